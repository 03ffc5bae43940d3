import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { SendOptions } from '../../../src/contracts/send-options.ts';
import { LedgerReader } from '../../../src/batch/ledger/ledger-reader.ts';
import { startEmulator } from '../../../src/emulator/emulator.ts';
import { readPossiblySentTwice } from '../../../src/fleet/possibly-sent-twice.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { room } from '../../service-coverage/support/line.ts';
import { readNoticeEvents } from '../../support/events.ts';
import { numbers } from '../../support/fleet.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { startRefusingRedis, type Refuse } from './support/refusing-redis.ts';

const NOTICES = 20;
/** How long the service takes to answer: writes are refused meanwhile. */
const LATENCY_MS = 700;
const ENV = { CONCURRENCY: '20', BATCH_CONCURRENCY: '20', NOTICE_EVENTS: '1000' };
const SHORT_LOCK = {
  LOCK_DURATION_MS: '5000',
  HEARTBEAT_MS: '500',
  SEND_DEADLINE_MS: '2400',
  ANSWER_TIMEOUT_MS: '2000',
  CONNECT_TIMEOUT_MS: '400',
  ISSUE_DEADLINE_MS: '2400',
};
const ROWS = 4_000;
const LONG = { deadlineMs: 20_000 };

/** Replies that no Redis gives for a mistake of this program; the first one by a gateway in front of it. */
const REPLIES: Readonly<Record<string, Refuse>> = {
  'a quota that is spent': () =>
    'ERR max daily request limit exceeded. Limit: 10000, Usage: 10001.',
  'SCRIPT KILL': (name) =>
    name === 'evalsha' || name === 'eval'
      ? 'ERR Script killed by user with SCRIPT KILL... script: 694a5fe1, on @user_script:1.'
      : undefined,
};

/**
 * Redis refuses from the moment at which the service has taken everything, so none of the answers can be recorded.
 * Afterwards each notice must be done, have its event, and be in the service's record once.
 */
describe('while Redis refuses, an answer of the service', () => {
  const lines = room();
  const { redis } = lines;
  const { client } = redis;

  afterEach(async () => {
    await client.config('SET', 'min-replicas-to-write', '0');
    await client.config('SET', 'maxmemory', '0');
    await client.call('REPLICAOF', 'NO', 'ONE');
  });

  const noReplicas = (is: boolean) => client.config('SET', 'min-replicas-to-write', is ? '1' : '0');
  const refusals: Readonly<Record<string, (is: boolean) => Promise<unknown>>> = {
    NOREPLICAS: noReplicas,
    OOM: (is) => client.config('SET', 'maxmemory', is ? '1' : '0'),
    // Of a server that does not answer, so that it keeps its data.
    READONLY: (is) =>
      is ? client.call('REPLICAOF', '127.0.0.1', '1') : client.call('REPLICAOF', 'NO', 'ONE'),
  };

  /** A worker and what it sends: until all of it is at the service. */
  async function sendAll(
    what: SendOptions | 'list',
    env: Readonly<Record<string, string>> = {},
    isProxied = false,
  ) {
    const service = await startEmulator();
    onTestFinished(() => service.close());
    service.addFault({ on: 'send', latencyMs: LATENCY_MS });
    const line = await lines.line(service.url, { ...ENV, ...env });
    const proxy = await startRefusingRedis(Number(new URL(redis.url).port));
    onTestFinished(() => proxy.close());
    if (isProxied) await line.restart({ REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
    const contacts = numbers(NOTICES).map((contact) => ({ contact }));
    const { queue, prefix } = line;
    const keys = keysOf(prefix, 'default');
    const list = { templateCode: 'ONCE', chunkSize: 1 };
    const batch = what === 'list' ? (await queue.import(contacts, list)).batch : '';
    if (what !== 'list') {
      const notices = contacts.map((one) => ({ templateCode: 'ONCE', contacts: [one] }));
      await queue.sendMany(notices, what);
    }
    await until(() => service.record().requests >= NOTICES, { what: 'all to be at the service' });

    /** Waits for the end of all; answers how many contacts the account counts as possibly sent twice. */
    const untilDone = async (): Promise<number> => {
      if (what === 'list') {
        const reader = new LedgerReader(client, keys);
        const read = async () => {
          const found = await reader.read(batch);
          const { phase, counts } = found ?? {};
          return phase === 'finished' && counts?.accepted === NOTICES && counts;
        };
        const counts = await until(read, { what: 'all of the batch to be accepted', ...LONG });
        return counts.possiblySentTwice;
      }
      const board = openBullQueue(QUEUE_NAME, client, keys);
      onTestFinished(() => board.close());
      const isDone = async () => (await board.getCompletedCount()) === NOTICES;
      await until(isDone, { what: 'all to be done', ...LONG });
      expect(await board.getFailedCount()).toBe(0);
      return (await readPossiblySentTwice(client, keys)).notices;
    };
    /** How many notices have the event that they were accepted, and how many have another one. */
    const announced = async () => {
      const { events } = await readNoticeEvents(client, keys, '0', 1_000);
      const of = (isAccepted: boolean) => {
        const some = events.filter(({ state }) => (state === 'accepted') === isAccepted);
        return new Set(some.map(({ notice }) => notice)).size;
      };
      return [of(true), of(false)] as const;
    };
    /** How often the service took a number beyond the first time. */
    const twice = () => [...service.contacts()].reduce((sum, { count }) => sum + count - 1, 0);
    return { service, line, keys, proxy, untilDone, announced, twice };
  }

  it.each(Object.entries(refusals))('is recorded after a moment of %s', async (_, refuse) => {
    const { line, untilDone, announced, twice } = await sendAll({});
    await refuse(true);
    await until(() => line.attempts().length >= NOTICES, { what: 'all answers' });
    const isLogged = () => line.log.some(({ event }) => event === 'redis-trouble');
    await until(isLogged, { what: 'a refusal to be logged' });
    await refuse(false);
    expect([await untilDone(), await announced(), twice()]).toEqual([0, [NOTICES, 0], 0]);
  });

  const all = [{}, { delivery: 'at-most-once' }, 'list'] as const;
  it.each(
    Object.entries(REPLIES).flatMap(([reply, refuse]) =>
      all.map((what) => [reply, what, refuse] as const),
    ),
  )('is recorded after a moment of %s: %j', async (_, what, refuse) => {
    const { proxy, untilDone, twice } = await sendAll(what, {}, true);
    proxy.refuse(refuse);
    const isRefused = () => proxy.refused >= 4 * NOTICES;
    await until(isRefused, { what: 'each record to be refused again and again' });
    proxy.refuse(undefined);
    expect([await untilDone(), twice()]).toEqual([0, 0]);
  });

  /** Refuses writes until the locks of all jobs have ended, while another worker may take them. */
  async function refusedBeyondLocks(what: SendOptions | 'list') {
    const sent = await sendAll(what, SHORT_LOCK);
    await sent.line.addWorker();
    await noReplicas(true);
    const { noticeLock, chunkLock } = sent.keys;
    const locks = what === 'list' ? chunkLock('*') : noticeLock('*');
    const haveEnded = async () => (await client.keys(locks)).length === 0;
    await until(haveEnded, { what: 'the locks to end' });
    await noReplicas(false);
    return sent;
  }

  it('is recorded, or counted as possibly sent, after a refusal longer than the lock', async () => {
    const { untilDone, announced, twice } = await refusedBeyondLocks({});
    expect(await untilDone()).toBeGreaterThanOrEqual(twice());
    expect(await announced()).toEqual([NOTICES, 0]);
  });

  it('is not sent again after a refusal longer than the lock, at-most-once', async () => {
    const { announced, twice } = await refusedBeyondLocks({ delivery: 'at-most-once' });
    const haveEnded = async () => (await announced()).reduce((a, b) => a + b) === NOTICES;
    await until(haveEnded, { what: 'all to have ended', ...LONG });
    expect(twice()).toBe(0);
  });

  it('is found by the next worker after a refusal longer than the lock, of chunks', async () => {
    const { untilDone, twice } = await refusedBeyondLocks('list');
    expect([await untilDone(), twice()]).toEqual([0, 0]);
  });

  it.each(Object.entries(REPLIES))('does not end a running import: %s', async (_, refuse) => {
    const proxy = await startRefusingRedis(Number(new URL(redis.url).port));
    onTestFinished(() => proxy.close());
    const prefix = redis.freshPrefix();
    const connection = connectionAs('importer', redis.url, `redis://127.0.0.1:${proxy.port}`);
    const queue = new NoticeQueue({ redis: connection, prefix });
    onTestFinished(() => queue.close());
    const isStored = async () => (await redis.keys(prefix)).some((key) => key.endsWith(':payload'));
    async function* rows() {
      for (const [index, contact] of numbers(ROWS).entries()) {
        if (index === ROWS / 2) {
          await until(isStored, { what: 'a chunk to be stored' });
          proxy.refuse(refuse);
          setTimeout(() => proxy.refuse(undefined), 300);
        }
        yield { contact };
      }
    }
    const report = await queue.import(rows(), { templateCode: 'T', chunkSize: 10 });
    expect(proxy.refused).toBeGreaterThan(0);
    expect(report).toMatchObject({ contacts: ROWS, refused: 0 });
  });

  it('whose event Redis refuses lastingly does not keep the next job from being sent', async () => {
    const service = await startEmulator();
    onTestFinished(() => service.close());
    const line = await lines.line(service.url, { ...ENV, CONCURRENCY: '1' });
    const keys = keysOf(line.prefix, 'default');
    const board = openBullQueue(QUEUE_NAME, client, keys);
    onTestFinished(() => board.close());
    await board.pause();
    await client.set(keys.events, 'of another program');
    const notices = numbers(3).map((contact) => ({ templateCode: 'T', contacts: [{ contact }] }));
    await line.queue.sendMany(notices);
    await board.resume();
    await until(async () => (await board.getCompletedCount()) === 3, { what: 'all to end' });
    const jobs = await board.getCompleted();
    expect(jobs.map(({ stalledCounter }) => stalledCounter)).toEqual([0, 0, 0]);
    expect([...service.contacts()].map(({ count }) => count)).toEqual([1, 1, 1]);
    // Who runs the workers learns why the events are missing.
    expect(line.log.some(({ code }) => code === 'WRONGTYPE')).toBe(true);
  });

  it('whose event Redis refuses together with the end of its notice gets the event with it', async () => {
    const user = { REDIS_USERNAME: 'refused-for-a-moment', REDIS_PASSWORD: 'any' };
    const setUser = (...rules: string[]) => client.acl('SETUSER', user.REDIS_USERNAME, ...rules);
    await setUser('on', '>any', 'allkeys', 'allchannels', 'allcommands');
    onTestFinished(async () => {
      await client.acl('DELUSER', user.REDIS_USERNAME);
    });
    const service = await startEmulator();
    onTestFinished(() => service.close());
    service.addFault({ on: 'send', latencyMs: LATENCY_MS });
    const line = await lines.line(service.url, { ...ENV, ...user });
    await line.queue.send({ templateCode: 'T', contacts: [{ contact: '01012345678' }] });
    await until(() => service.record().requests > 0, { what: 'the request' });
    await setUser('resetkeys');
    await until(() => line.attempts().length > 0, { what: 'the answer' });
    const answered = line.log.length;
    const isRefused = () => line.log.slice(answered).some(({ code }) => code === 'NOPERM');
    await until(isRefused, { what: 'the refusal to be logged' });
    await setUser('allkeys');
    const keys = keysOf(line.prefix, 'default');
    const events = async () => (await readNoticeEvents(client, keys, '0', 10)).events;
    await until(async () => (await events()).length > 0, { what: 'the event' });
    expect(await events()).toMatchObject([{ state: 'accepted' }]);
    expect([...service.contacts()].map(({ count }) => count)).toEqual([1]);
  });
});
