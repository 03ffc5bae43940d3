import { describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import type { OperationOutput } from '../../../src/ops/operations/operations.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { parkNotice } from '../../ops/support/parked-notice.ts';
import { testRedis } from '../../support/redis.ts';
import { errorOf, run } from '../support/run.ts';
import { endedThen } from '../../ops/support/failed-notices.ts';

const redis = testRedis();
const DAY = 86_400_000;

/** Two single notices, and a batch with two unknown chunks: of ten contacts each but one rejected. */
async function inDoubt() {
  const prefix = redis.freshPrefix();
  const keys = keysOf(prefix, 'default');
  const reset = await parkNotice(redis, {}, prefix, undefined, {
    traceIds: ['trace-0', 'trace-1'],
  });
  const slow = await parkNotice(redis, {}, prefix, undefined, {
    number: '01000000002',
    template: 'SLOW',
    code: 'TIMEOUT',
  });
  const batch = await buildBatch(redis.client, prefix, 'b', [contacts(10), contacts(10, 10)]);
  await batch.settle(0, allFailed('unknown', 'TIMEOUT', 'HTTP 503 (trace id t-9)'));
  const failed = [
    await part('rejected', 'BAD', contacts(1, 10)),
    await part('unknown', 'ECONNRESET', contacts(9, 11)),
  ];
  await batch.settle(1, { accepted: 0, failed });
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const notices = (...args: string[]) => run(args, env);
  const left = async (...flags: string[]) => {
    const { stdout } = await notices('unknown', '--json', ...flags);
    const found = JSON.parse(stdout) as OperationOutput<'unknown'>;
    return [found.notices.map(({ id }) => id), found.batches.map((one) => one.contacts)];
  };
  const audit = () => readAudit(redis.client, keys, 20);
  return { prefix, keys, reset: reset.id, slow: slow.id, batch, notices, left, audit };
}

describe('unknown outcomes are decided', () => {
  it('by code, template, batch, chunk and age, with the count of what is decided before', async () => {
    const { keys, reset, slow, batch, notices, left, audit } = await inDoubt();
    expect(await left('--code', 'TIMEOUT')).toEqual([[slow], [10]]);
    expect(await left('--template', 'ONCE')).toEqual([[reset], []]);
    expect(await left('--template', 'T')).toEqual([[], [19]]);
    expect(await left('--batch', 'b', '--chunk', '3')).toEqual([[], [9]]);
    expect(await left('--older-than', '1d')).toEqual([[], []]);
    const asks = await notices('resolve', '--code', 'TIMEOUT', '--as', 'accepted', '--json');
    expect([asks.code, errorOf(asks).message]).toEqual([
      2,
      'Resolve 11 contacts as accepted? They count as accepted and are never sent again. There is no terminal to ask on: add --yes to confirm.',
    ]);
    const done = await notices('resolve', '--code', 'TIMEOUT', '--as', 'accepted', '--yes');
    expect(done).toMatchObject({ code: 0, stdout: '11 contacts resolved as accepted.\n' });
    expect(done.stderr).toMatch(/batch b +T +10 +TIMEOUT/);
    expect(await left()).toEqual([[reset], [9]]);
    expect((await batch.read()).counts).toMatchObject({ accepted: 10, unknown: 9, rejected: 1 });

    await endedThen(redis.client, keys, reset, Date.now() - 2 * DAY);
    const aged = await notices('resolve', '--older-than', '1d', '--as', 'discard', '--yes');
    expect(aged.stdout).toBe('1 contact resolved as discard.\n');
    const chunk = ['--batch', 'b', '--chunk', '3', '--as', 'discard', '--why', 'obsolete'];
    const rest = await notices('resolve', ...chunk, '--yes');
    expect(rest.stdout).toBe('9 contacts resolved as discard.\n');
    expect(await left()).toEqual([[], []]);
    expect((await audit()).map(({ target, as, why }) => [target, as, why])).toEqual([
      ['batch b', 'discard', 'obsolete'],
      [reset, 'discard', ''],
      ['batch b', 'accepted', ''],
      [slow, 'accepted', ''],
    ]);
  }, 60_000);

  it('by number: of a batch only its contacts, the others of the chunk stay unknown', async () => {
    const { batch, notices, left, audit } = await inDoubt();
    const [one] = contacts(1, 12);
    const number = one?.contact ?? '';
    expect(await left('--number', number)).toEqual([[], [1]]);
    const flags = ['--number', number, '--as', 'accepted', '--yes', '--why', 'has arrived'];
    const done = await notices('resolve', ...flags);
    expect(done).toMatchObject({ code: 0, stdout: '1 contact resolved as accepted.\n' });
    expect((await batch.read()).counts).toMatchObject({ accepted: 1, unknown: 18, total: 20 });
    expect(await left('--number', number)).toEqual([[], []]);
    expect(await left('--batch', 'b', '--chunk', '3')).toEqual([[], [8]]);
    const entries = await audit();
    expect(entries.map(({ what, as }) => [what, as])).toEqual([
      ['search', 'searched'],
      ['resolve', 'accepted'],
      ['search', 'searched'],
      ['search', 'searched'],
      ['search', 'searched'],
    ]);
    expect(JSON.stringify(entries)).not.toContain(number);
    expect(entries.find(({ what }) => what === 'resolve')).toMatchObject({ why: 'has arrived' });

    // Sent again: it alone is a new chunk.
    const [other] = contacts(1, 0);
    const again = ['--number', other?.contact ?? '', '--as', 'resend', '--yes'];
    expect((await notices('resolve', ...again)).stdout).toBe('1 contact resolved as resend.\n');
    const { counts, chunks } = await batch.read();
    expect([counts.pending, counts.unknown, counts.possiblySentTwice, chunks]).toEqual([
      1, 17, 1, 5,
    ]);
  }, 60_000);

  it('are exported with numbers and trace ids, which is recorded', async () => {
    const { notices, reset, audit } = await inDoubt();
    expect((await notices('unknown')).stdout).toMatch(
      /ECONNRESET +sent +1 time +trace-0 trace-1$/m,
    );
    const csv = await notices('unknown', '--csv', '--code', 'ECONNRESET', '--why', 'a question');
    expect(csv.stderr).toBe('Exported 10 contacts.\n');
    const [head = '', first = '', next = ''] = csv.stdout.split('\n');
    expect(head).toMatch(/^"contact","template","code","trace_id"/);
    expect(first).toMatch(/^"01000000001","ONCE","ECONNRESET","trace-0 trace-1"/);
    expect(first).toContain(`"${reset}"`);
    expect(next).toMatch(/^"01000000011","T","ECONNRESET".*"b","3",""$/);
    expect(await audit()).toMatchObject([
      { what: 'download', as: 'unknown ECONNRESET', why: 'a question' },
    ]);
  }, 60_000);

  it('flags that select nothing, or too much, are refused', async () => {
    const { notices, left } = await inDoubt();
    for (const [args, message] of [
      [['resolve', '--as', 'discard'], /^<ids>: expected either ids or a filter/],
      [['resolve', '--as', 'discard', '--all', '--batch', 'b'], /^--all: expected without batch$/],
      [['resolve', 'n-1', '--as', 'discard', '--all'], /^<ids>: expected either/],
      [['resolve', '--as', 'discard', '--all', '--chunk', '1'], /^--chunk: expected with batch$/],
      [['unknown', '--number', 'none'], /--number/],
    ] as const) {
      const ended = await notices(...args, '--json');
      expect([args, ended.code, errorOf(ended).message]).toEqual([
        args,
        2,
        expect.stringMatching(message),
      ]);
    }
    expect(await left()).toMatchObject([[{}, {}].map(() => expect.anything() as unknown), [19]]);
  }, 60_000);
});
