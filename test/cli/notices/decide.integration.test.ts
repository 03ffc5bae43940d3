import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import type { OperationOutput } from '../../../src/ops/operations/operations.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { parkNotice } from '../../ops/support/parked-notice.ts';
import { testRedis } from '../../support/redis.ts';
import { errorOf, run, start } from '../support/run.ts';
import { endedThen, failNotices } from '../../ops/support/failed-notices.ts';

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
    const { stdout } = await notices('failures', '--json', '--state', 'unknown', ...flags);
    const found = JSON.parse(stdout) as OperationOutput<'failures'>;
    return [found.notices.map(({ id }) => id), found.batches.map((one) => one.contacts)];
  };
  const audit = () => readAudit(redis.client, keys, 20);
  return { prefix, keys, reset: reset.id, slow: slow.id, batch, notices, left, audit };
}

describe('unknown outcomes are decided', () => {
  it('by code, template, batch and age, with the count of what is decided before', async () => {
    const { keys, reset, slow, batch, notices, left, audit } = await inDoubt();
    expect(await left('--code', 'TIMEOUT')).toEqual([[slow], [10]]);
    expect(await left('--template', 'ONCE')).toEqual([[reset], []]);
    expect(await left('--template', 'T')).toEqual([[], [19]]);
    expect(await left('--older-than', '1d')).toEqual([[], []]);
    const asks = await notices('decide', '--code', 'TIMEOUT', '--as', 'accepted', '--json');
    expect([asks.code, errorOf(asks).message]).toEqual([
      2,
      'Count 11 contacts as accepted? They are never sent again. There is no terminal to ask on: add --yes to confirm.',
    ]);
    const done = await notices('decide', '--code', 'TIMEOUT', '--as', 'accepted', '--yes');
    expect(done).toMatchObject({ code: 0, stdout: '11 contacts settled as accepted.\n' });
    expect(done.stderr).toMatch(/^b +T +10 +TIMEOUT$/m);
    expect(await left()).toEqual([[reset], [9]]);
    expect((await batch.read()).counts).toMatchObject({ accepted: 10, unknown: 9, rejected: 1 });

    await endedThen(redis.client, keys, reset, Date.now() - 2 * DAY);
    const aged = await notices('decide', '--older-than', '1d', '--as', 'discard', '--yes');
    expect(aged.stdout).toBe('1 contact given up.\n');
    const flags = ['--batch', 'b', '--as', 'discard', '--why', 'obsolete'];
    const rest = await notices('decide', ...flags, '--yes');
    expect(rest.stdout).toBe('9 contacts given up.\n');
    expect(await left()).toEqual([[], []]);
    expect((await audit()).map(({ target, as, why }) => [target, as, why])).toEqual([
      ['batch b', 'discard unknown', 'obsolete'],
      [reset, 'discard unknown', ''],
      ['batch b', 'accepted unknown TIMEOUT', ''],
      [slow, 'accepted unknown TIMEOUT', ''],
    ]);
  }, 60_000);

  it('by number: of a batch only its contacts, the others of the chunk stay unknown', async () => {
    const { batch, notices, left, audit } = await inDoubt();
    const [one] = contacts(1, 12);
    const number = one?.contact ?? '';
    expect(await left('--number', number)).toEqual([[], [1]]);
    const flags = ['--number', number, '--as', 'accepted', '--yes', '--why', 'has arrived'];
    const done = await notices('decide', ...flags);
    expect(done).toMatchObject({ code: 0, stdout: '1 contact settled as accepted.\n' });
    expect((await batch.read()).counts).toMatchObject({ accepted: 1, unknown: 18, total: 20 });
    expect(await left('--number', number)).toEqual([[], []]);
    const entries = await audit();
    expect(entries.map(({ what, as }) => [what, as])).toEqual([
      ['search', 'searched'],
      ['decide', 'accepted unknown'],
      ['search', 'searched'],
      ['search', 'searched'],
      ['search', 'searched'],
    ]);
    expect(JSON.stringify(entries)).not.toContain(number);
    expect(entries.find(({ what }) => what === 'decide')).toMatchObject({ why: 'has arrived' });

    // Sent again: it alone is a new chunk.
    const [other] = contacts(1, 0);
    const again = ['--number', other?.contact ?? '', '--as', 'resend', '--state', 'unknown'];
    const resent = await notices('decide', ...again, '--batch', 'b', '--yes');
    expect(resent.stdout).toBe('1 contact will be sent again.\n');
    const { counts, chunks } = await batch.read();
    expect([counts.pending, counts.unknown, counts.possiblySentTwice, chunks]).toEqual([
      1, 17, 1, 5,
    ]);
  }, 60_000);

  it('by a number from standard input; a wrong one is not repeated', async () => {
    const { prefix } = await parkNotice(redis);
    const decide = async (number: string) => {
      const flags = ['--number', '-', '--as', 'discard', '--why', 'x', '--yes'];
      const running = start(['decide', ...flags], { REDIS_URL: redis.url, REDIS_PREFIX: prefix });
      running.stdin.end(`${number}\n`);
      return running.ended;
    };
    expect(await decide('0101234567x')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^(?!.*0101234567).*--number: /) as string,
    });
    expect(await decide('01000000001')).toMatchObject({
      code: 0,
      stdout: '1 contact given up.\n',
    });
    const { code, stderr } = await run(['failures', '--number', '0101234567x']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--number')]);
    expect(stderr).not.toContain('0101234567');
  });

  it('are listed and exported with numbers and trace ids, which is recorded', async () => {
    const { notices, reset, audit } = await inDoubt();
    expect((await notices('failures')).stdout).toMatch(/ECONNRESET +1 time +trace-0 trace-1$/m);
    const known = await notices('failures', '--csv', '--code', 'ECONNRESET');
    expect(known.stderr).toBe('No contact matches.\n');
    const flags = ['--state', 'unknown', '--code', 'ECONNRESET', '--why', 'a question'];
    const csv = await notices('failures', '--csv', ...flags);
    expect(csv.stderr).toBe('Exported 10 contacts.\n');
    const [, first = '', next = ''] = csv.stdout.split('\n');
    expect(first).toMatch(/^"01000000001",.*"unknown","ECONNRESET",.*"ONCE","trace-0 trace-1"/);
    expect(first).toContain(`"${reset}"`);
    expect(next).toMatch(/^"01000000011",.*"unknown","ECONNRESET".*"b"$/);
    expect(await audit()).toMatchObject([
      { what: 'download', as: 'unknown ECONNRESET', why: 'a question' },
      { what: 'download', as: 'rejected ECONNRESET' },
    ]);
  }, 60_000);

  it.each([
    [[], 'rejected', 'resend', '2 contacts will be sent again.'],
    [['--older-than', '1ms', '--template', "O'K"], 'rejected', 'discard', '1 contact given up.'],
    [['b'], 'rejected', 'resend', '1 contact will be sent again.'],
    [['b', '--code', 'TIMEOUT'], 'unknown', 'accepted', '10 contacts settled as accepted.'],
    [
      ['--single', '--since', '2026-01-01'],
      'unknown',
      'accepted',
      '2 contacts settled as accepted.',
    ],
    [[], 'unknown', 'accepted', '21 contacts settled as accepted.'],
  ])('after a list with %j, the printed command for %s ones as %s acts on them', async (...row) => {
    const [flags, state, as, says] = row;
    const { prefix, notices } = await inDoubt();
    await failNotices(redis, prefix, { count: 1, from: 10 });
    await failNotices(redis, prefix, { count: 1, from: 11, template: "O'K" });
    const { stdout } = await notices('failures', ...flags);
    const printed = new RegExp(`"notices (decide --as ${as} --state ${state}[^"]*)"`).exec(stdout);
    const line = printed?.[1] ?? '';
    const shell = spawnSync('/bin/sh', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' });
    const done = await notices(...shell.stdout.split('\0').slice(0, -1), '--yes');
    expect([done.code, done.stdout]).toEqual([0, `${says}\n`]);
  });

  it('flags that select nothing, or contradict each other, are refused', async () => {
    const { notices, left } = await inDoubt();
    const rows = [
      [['--as', 'discard'], /^<ids>: expected ids or a filter/],
      [['--as', 'discard', '--single', '--batch', 'b'], /^--single: expected without batch$/],
      [['n-1', '--as', 'discard', '--batch', 'b'], /^<ids>: expected without batch$/],
      [
        ['--as', 'resend', '--state', 'cancelled'],
        /cancelled' is invalid. expected rejected, unknown, expired$/,
      ],
      [['--as', 'accepted', '--state', 'rejected'], /^--state: expected unknown/],
      [['--as', 'discard', '--single', '--release-key'], /^--release-key: expected state rejected/],
    ] as const;
    for (const [args, message] of rows) {
      const ended = await notices('decide', ...args, '--json');
      const shown = [args, ended.code, errorOf(ended).message];
      expect(shown).toEqual([args, 2, expect.stringMatching(message)]);
    }
    expect((await notices('decide', '--batch', 'no-such', '--as', 'resend')).code).toBe(1);
    expect(await left()).toMatchObject([[{}, {}].map(() => expect.anything() as unknown), [19]]);
  }, 60_000);
});
