import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import type { OperationOutput } from '../../../src/ops/operations/operations.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { parkNotice } from '../../ops/support/parked-notice.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { errorOf, matching, run, start } from '../support/run.ts';
import { endAs, endedThen, failNotices } from '../../ops/support/failed-notices.ts';

const redis = testRedis();
const DAY = 86_400_000;

/** Two single notices, and a batch with two unknown chunks: of ten contacts each but one rejected. */
async function inDoubt() {
  const { prefix, keys } = redis.account();
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
    expect(await left('--before', '1d')).toEqual([[], []]);
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
    const aged = await notices('decide', '--before', '1d', '--as', 'discard', '--yes');
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

  it('are listed and exported by ids, and with all that may have arrived', async () => {
    const { prefix, reset, slow, notices, left } = await inDoubt();
    await failNotices(redis, prefix, { count: 1, from: 20 });
    expect(await left('--ids', reset)).toEqual([[reset], []]);
    const listed = await notices('failures', '--possibly-sent', '--json');
    const found = JSON.parse(listed.stdout) as OperationOutput<'failures'>;
    expect(found.notices.map(({ id }) => id).toSorted()).toEqual([reset, slow].toSorted());
    expect(found.batches.map((one) => one.contacts)).toEqual([19]);
    const some = ['--state', 'unknown', '--ids', reset, slow];
    expect((await notices('failures', '--csv', ...some)).stderr).toBe('Exported 2 contacts.\n');
    const { stdout } = await notices('failures', ...some, '--possibly-sent');
    expect(stdout).toContain(`--state unknown ${reset} ${slow} --possibly-sent"`);
  });

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
    const [, decided] = entries;
    expect(decided).toMatchObject({ what: 'decide', as: 'accepted unknown', why: 'has arrived' });
    expect(entries.filter(({ what }) => what === 'search')).toHaveLength(4);
    expect(JSON.stringify(entries)).not.toContain(number);

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
    [['--before', '1ms', '--template', "O'K"], 'rejected', 'discard', '1 contact given up.'],
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

  it.each([
    [
      ['--as', 'discard'],
      /^<ids>: expected <ids> or a filter, such as --batch, --single or --code$/,
    ],
    [['--as', 'discard', '--single', '--batch', 'b'], /^--single: expected without --batch$/],
    [['--as', 'discard', '--possibly-sent', '--batch', 'b'], /^--possibly-sent: expected without/],
    [['n-1', '--as', 'discard', '--batch', 'b'], /^<ids>: expected without --batch$/],
    [['--as', 'resend', '--state', 'cancelled'], /invalid. expected rejected, unknown, expired$/],
    [['--as', 'resend', '--state', 'suppressed'], /invalid. expected rejected, unknown, expired$/],
    [['--as', 'accepted', '--state', 'rejected'], /^--state: expected unknown/],
    [['--as', 'discard', '--single', '--release-key'], /^--release-key: expected --state rejected/],
  ])('%j is refused', async (args, message) => {
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: redis.freshPrefix() };
    const ended = await run(['decide', ...args, '--json'], env);
    expect([ended.code, errorOf(ended).message]).toEqual([2, expect.stringMatching(message)]);
  });
});

/** So many rejected notices, and a batch of two rejected chunks with two and one contacts. */
async function rejected(count: number) {
  const prefix = redis.freshPrefix();
  const { keys, ids } = await failNotices(redis, prefix, { count });
  const batch = await buildBatch(redis.client, prefix, 'b', [contacts(2), contacts(1, 10)]);
  for (const chunk of [0, 1]) await batch.settle(chunk, allFailed('rejected', 'BAD', ''));
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const notices = (...args: string[]) => run(args, env);
  const left = () => redis.client.zcard(keys.endedIn('rejected'));
  return { prefix, keys, id: ids[0] ?? '', batch, env, notices, left };
}

const RESEND = ['decide', '--as', 'resend'];

describe('rejected ones are decided', () => {
  it('after a look at what would be done; nothing matches, or nothing is done, is said', async () => {
    const { batch, notices } = await rejected(0);
    const resend = [...RESEND, '--batch', 'b'];
    const asks = await notices(...resend);
    expect([asks.code, asks.stdout]).toEqual([2, '']);
    expect(asks.stderr).toMatch(/^ {2}rejected +BAD +3$/m);
    expect(asks.stderr).toContain('Send 3 contacts of batch b again? There is no terminal');
    const none = await notices(...resend, '--code', 'OTHER');
    expect([none.code, none.stdout]).toEqual([0, 'Nothing was done.\n']);
    const some = await notices(...resend, '--yes', '--limit', '1');
    expect(some.stdout).toMatch(/^1 contact will be sent again\.\nNot all .* tried\.\n/);
    const limited = await notices(...resend, '--yes', '--limit', '1');
    expect(limited.stdout).toMatch(/^Nothing was done\.\n.*\nA chunk is .* --limit /);
    await batch.ledger.control('b', 'pause');
    const refused = await notices(...resend, '--yes');
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/^NOT_POSSIBLE: Batch b cannot be sent again: it is paused/);
    expect((await batch.read()).counts).toMatchObject({ rejected: 2, pending: 1 });
    expect((await notices('decide', '--batch', 'no-such', '--as', 'resend')).code).toBe(1);
  });

  it('what fails while it asks is left as it is', async () => {
    const { prefix, env, left } = await rejected(1);
    const asked = start(RESEND.concat('--state', 'rejected'), env, true);
    await matching(() => asked.stderr(), /Send 1 contact again\?.*\[y/);
    await failNotices(redis, prefix, { count: 1, from: 10 });
    asked.stdin.write('y\n');
    const says = '1 contact will be sent again.\n';
    expect(await asked.ended).toMatchObject({ code: 0, stdout: says });
    expect(await left()).toBe(1);
  });

  it('stopped by Ctrl-C: exit code 1, and the rest is left', async () => {
    const { env, left } = await rejected(60);
    const running = start([...RESEND, '--single', '--rate', '1', '--yes'], env);
    await until(async () => (await left()) < 60, { what: 'the first', deadlineMs: 20_000 });
    running.stop('SIGINT');
    const { code, stdout } = await running.ended;
    const done = 60 - (await left());
    expect([code, stdout]).toEqual([
      1,
      `${done} contact${done === 1 ? '' : 's'} will be sent again.\nNot all that match were tried.\nStopped. Run the command again for the rest.\n`,
    ]);
    expect(done).toBeLessThan(60);
  });

  it('unknown ones and those on the do-not-send list are left out, unless they are named', async () => {
    const { prefix, keys, id, notices } = await rejected(1);
    await endAs(redis.client, keys, id, { state: 'suppressed', code: 'SUPPRESSED' });
    const listed = await notices('failures', '--state', 'suppressed');
    expect(listed.stdout).toMatch(/^ *suppressed +SUPPRESSED +1/m);
    expect((await notices('failures')).stdout).not.toContain(id);
    const unknown = (await failNotices(redis, prefix, { count: 1, from: 1, state: 'unknown' })).ids;
    for (const one of [id, ...unknown]) {
      const ended = await notices(...RESEND, one, '--yes', '--json');
      expect([ended.code, JSON.parse(ended.stdout)]).toMatchObject([1, { done: 0, gone: 1 }]);
    }
    const named = await notices(...RESEND, ...unknown, '--state', 'unknown', '--yes', '--json');
    expect(JSON.parse(named.stdout)).toMatchObject({ done: 1, contacts: 1, gone: 0 });
    expect((await notices('show', id)).stdout).toMatch(/^state +suppressed$/m);
  });
});
