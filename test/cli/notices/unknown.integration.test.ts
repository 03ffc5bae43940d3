import { describe, expect, it } from 'vitest';
import { allAccepted, allFailed } from '../../../src/batch/ledger/settlement.ts';
import type { KeptAudit } from '../../../src/ops/audit.ts';
import type { ResolveReport } from '../../../src/ops/resolve-unknown.ts';
import { Intents } from '../../../src/fleet/intents/intents.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import type { Unknowns } from '../../../src/ops/unknown/select.ts';
import { errorOf, run, STACK } from '../support/run.ts';
import { endWaiting, endedThen } from '../../ops/support/failed-notices.ts';

const redis = testRedis();

/** A number that must not be shown. */
const NUMBER = /0100\d{7}/;

/** Notices that failed for good and are listed, without a worker that would take them again. */
async function unknownNotices(howMany: number) {
  const prefix = redis.freshPrefix();
  const keys = keysOf(prefix, 'default');
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const queue = new NoticeQueue({
    redis: connectionAs('producer', redis.url),
    prefix,
    delivery: 'at-most-once',
  });
  const receipts = await queue.sendMany(
    contacts(howMany).map((contact) => ({ templateCode: 'T', contacts: [contact] })),
  );
  await queue.close();
  const ids = receipts.map(({ id }) => id);
  const at = Date.now() - 1_000;
  const unknown = { state: 'unknown', code: 'TIMEOUT', stage: 'sent', possiblySent: 1 } as const;
  // They are listed by time.
  for (const [index, id] of ids.entries()) {
    const entry = { ...unknown, template: 'T', delivery: 'at-most-once', at: at + index } as const;
    await endWaiting(redis.client, keys, id, entry);
  }
  const list = async (...args: string[]) => {
    const { stdout } = await run(['unknown', '--json', ...args], env);
    return JSON.parse(stdout) as Unknowns;
  };
  const stateOf = async (id: string) => {
    const board = openBullQueue(QUEUE_NAME, redis.client, keys);
    try {
      return await board.getJobState(id);
    } finally {
      await board.close();
    }
  };
  return { env, keys, ids, list, stateOf };
}

describe('notices unknown and resolve', () => {
  it('shows and resolves single notices, each way, and keeps who did it', async () => {
    const { env, keys, ids, list, stateOf } = await unknownNotices(4);
    const [a = '', b = '', c = '', d = ''] = ids;
    const shown = await run(['unknown'], env);
    expect(shown.stdout).toMatch(/n-\S+ +T +1 +TIMEOUT +sent/);
    expect(shown.stdout).not.toMatch(NUMBER);
    expect((await list('--older-than', '1h')).notices).toEqual([]);

    const why = ['--why', 'seen in the console', '--by', 'kim'];
    const accepted = await run(['resolve', a, '--as', 'accepted', '--yes', ...why], env);
    expect([accepted.code, accepted.stdout.trim()]).toEqual([0, '1 contact resolved as accepted.']);
    expect((await run(['resolve', b, '--as', 'discard', '--yes'], env)).code).toBe(0);
    expect((await run(['resolve', c, '--as', 'resend', '--yes'], env)).code).toBe(0);
    expect([await stateOf(a), await stateOf(b), await stateOf(c)]).toEqual([
      'unknown',
      'unknown',
      'waiting',
    ]);
    // Its next attempt may begin, with all attempts left.
    await redis.client.set(keys.noticeLock(c), 'lock');
    const intents = new Intents(redis.client, keys);
    expect(await intents.begin({ job: c, nonce: 'n' }, 'lock', 'w')).toBe('send');
    await redis.client.del(keys.noticeLock(c));
    expect((await redis.client.hget(keys.noticeJob(c), 'atm')) ?? '0').toBe('0');
    expect((await list()).notices.map(({ id }) => id)).toEqual([d]);

    const again = await run(['resolve', a, d, '--as', 'discard', '--yes', '--json'], env);
    expect(again.code).toBe(1);
    expect(JSON.parse(again.stdout) as ResolveReport).toMatchObject({ resolved: 1, gone: 1 });

    await run(['hold', 'place', '--why', 'a look'], env);
    await run(['hold', 'lift'], env);
    const { stdout } = await run(['audit', '--json'], env);
    const { entries } = JSON.parse(stdout) as { entries: KeptAudit[] };
    expect(entries.map(({ target, as }) => [target, as])).toEqual([
      ['queue', 'lifted manual'],
      ['queue', 'placed'],
      [d, 'discard'],
      [c, 'resend'],
      [b, 'discard'],
      [a, 'accepted'],
    ]);
    expect(entries.at(-1)).toMatchObject({ who: 'kim', why: 'seen in the console', contacts: 1 });
    expect(entries[0]?.who).toMatch(/.@./);
    expect((await run(['audit', '--limit', '1'], env)).stdout).toContain('lifted manual');
  }, 60_000);

  it('resolves all at once, and those that are old enough', async () => {
    const { env, keys, ids, list } = await unknownNotices(3);
    await endedThen(redis.client, keys, ids[0] ?? '', 1);
    const all = ['resolve', '--all', '--as', 'discard', '--yes', '--json'];
    const first = await run([...all, '--older-than', '1h'], env);
    expect(JSON.parse(first.stdout)).toMatchObject({ resolved: 1, contacts: 1, gone: 0 });
    expect((await list()).notices).toHaveLength(2);
    expect(JSON.parse((await run(all, env)).stdout)).toMatchObject({ resolved: 2 });
    expect((await run(['unknown'], env)).stdout.trim()).toBe('No outcome is unknown.');
    const none = await run(all.slice(0, -1), env);
    expect([none.code, none.stdout.trim()]).toEqual([0, 'Nothing was done.']);
  }, 60_000);

  it.each([
    ['accepted', { accepted: 16, unknown: 0, cancelled: 0, pending: 0, possiblySentTwice: 0 }],
    ['discard', { accepted: 13, unknown: 0, cancelled: 3, pending: 0, possiblySentTwice: 0 }],
    ['resend', { accepted: 13, unknown: 0, cancelled: 0, pending: 3, possiblySentTwice: 3 }],
  ])('resolves what is unknown of a batch as %s, and its states add up', async (as, counts) => {
    const prefix = redis.freshPrefix();
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
    const lists = [contacts(10), contacts(10, 10)];
    const built = await buildBatch(redis.client, prefix, 'b', lists);
    await built.settle(0, allAccepted(10));
    const failed = [
      await part('rejected', 'BAD_NUMBER', contacts(4, 10)),
      await part('unknown', 'HTTP_500', contacts(3, 14)),
    ];
    await built.settle(1, { accepted: 3, failed });
    const shown = await run(['unknown', '--batch', 'b'], env);
    expect(shown.stdout).toMatch(/batch b +T +3 +HTTP_500/);

    const done = await run(['resolve', '--batch', 'b', '--as', as, '--yes', '--json'], env);
    expect([done.code, JSON.parse(done.stdout)]).toMatchObject([0, { resolved: 1, contacts: 3 }]);
    const after = (await built.read()).counts;
    expect(after).toMatchObject({ total: 20, rejected: 4, ...counts });
    const { total, pending, accepted, rejected, unknown, expired, cancelled } = after;
    expect(pending + accepted + rejected + unknown + expired + cancelled).toBe(total);
    const left = [];
    for await (const { name, state } of built.ledger.failures('b')) left.push([name, state]);
    expect(left).toEqual([['1.1', 'rejected']]);
    expect(await built.ledger.payload('b', '1.2')).toBeUndefined();
    expect(await built.ledger.resolve('b', '1.1', 'accepted')).toBe(false);
    expect(await built.ledger.resolve('b', '1.2', 'accepted')).toBe(false);
    const { stdout } = await run(['audit'], env);
    expect(stdout).toMatch(new RegExp(`resolve +batch b +${as} +3`));
  });

  it('a chunk that is unknown as a whole is resolved as a whole', async () => {
    const built = await buildBatch(redis.client, redis.freshPrefix(), 'b', [contacts(10)]);
    await built.settle(0, allFailed(10, 'unknown', 'TIMEOUT', ''));
    expect(await built.ledger.resolve('b', '0', 'cancelled')).toBe(true);
    expect((await built.read()).counts).toMatchObject({ unknown: 0, cancelled: 10, total: 10 });
    expect(await built.ledger.payload('b', '0')).toBeUndefined();
  });

  it.each([
    [['resolve', '--as', 'accepted'], 'use either ids'],
    [['resolve', 'n-1', '--all', '--as', 'accepted'], 'use either ids'],
    [['resolve', 'n-1'], '--as'],
    [['resolve', 'n-1', '--as', 'lost'], '--as'],
    [
      ['unknown', '--older-than', '3'],
      'Expected a duration from 0s to 3650d, such as 250ms, 30s, 5m, 24h or 7d.',
    ],
  ])('%j is wrong usage', async (args, words) => {
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: redis.freshPrefix() };
    const ended = await run([...args, '--json'], env);
    expect([ended.code, errorOf(ended).code]).toEqual([2, 'USAGE']);
    expect(ended.stderr).toContain(words);
    expect(ended.stderr).not.toMatch(STACK);
  });

  it('asks before it does anything', async () => {
    const { env, list } = await unknownNotices(1);
    const ended = await run(['resolve', '--all', '--as', 'resend'], env);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('some may arrive twice');
    expect((await list()).notices).toHaveLength(1);
  });
});
