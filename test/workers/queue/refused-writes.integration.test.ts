import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { SendOptions } from '../../../src/contracts/send-options.ts';
import { LedgerReader } from '../../../src/batch/ledger/ledger-reader.ts';
import { readPossiblySentTwice } from '../../../src/fleet/possibly-sent-twice.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { room } from '../../service-coverage/support/line.ts';
import { readNoticeEvents } from '../../support/events.ts';
import { numbers } from '../../support/fleet.ts';
import { quotaProxy } from '../../support/redis-proxy.ts';
import { until } from '../../support/wait.ts';
import { bullQueue } from '../../support/bull-queue.ts';

const NOTICES = 20;
/** How long the service takes to answer: writes are refused meanwhile. */
const LATENCY_MS = 700;
const ENV = { CONCURRENCY: '20', BATCH_CONCURRENCY: '20', NOTICE_EVENTS: '1000' };
const LONG = { deadlineMs: 20_000 };

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
    await client.call('REPLICAOF', 'NO', 'ONE');
    isSpent = false;
  });

  const noReplicas = (is: boolean) => client.config('SET', 'min-replicas-to-write', is ? '1' : '0');
  let isSpent = false;
  const spend = (is: boolean) => {
    isSpent = is;
    return Promise.resolve();
  };
  it.each<[string, SendOptions | 'list', (is: boolean) => Promise<unknown>]>([
    ['NOREPLICAS', {}, noReplicas],
    ['NOREPLICAS', { delivery: 'at-most-once' }, noReplicas],
    ['ERR', {}, spend],
    ['ERR', { delivery: 'at-most-once' }, spend],
    ['ERR', 'list', spend],
    [
      'READONLY',
      'list',
      // Of a server that does not answer, so that it keeps its data.
      (is) => client.call('REPLICAOF', ...(is ? ['127.0.0.1', '1'] : ['NO', 'ONE'])),
    ],
  ])('is recorded after a moment of %s: %j', async (code, what, refuse) => {
    // First: what a test opened last ends first, and a worker without Redis does not end.
    const gateway = await quotaProxy(redis.url, () => isSpent);
    const { emulator: service, queue, prefix, log, restart } = await lines.direct(ENV);
    await restart({ REDIS_URL: gateway });
    service.addFault({ on: 'send', latencyMs: LATENCY_MS });
    const keys = keysOf(prefix, 'default');
    const contacts = numbers(NOTICES).map((contact) => ({ contact }));
    const notices = contacts.map((one) => ({ templateCode: 'ONCE', contacts: [one] }));
    if (what !== 'list') await queue.sendMany(notices, what);
    else await queue.import(contacts, { templateCode: 'ONCE', batchId: 'b', chunkSize: 1 });
    await until(() => service.record().requests >= NOTICES, { what: 'all to be at the service' });
    const counted = new RegExp(`errorstat_${code}:count=(\\d+)`);
    const refused = async () => Number(counted.exec(await client.info('errorstats'))?.[1] ?? 0);
    const before = await refused();
    await refuse(true);
    const isRefused = async () => (await refused()) >= before + 3 * NOTICES;
    await until(isRefused, { what: 'each record to be refused again and again' });
    const isLogged = () =>
      log.some(({ event }) => event === 'trouble' || event === 'redis-trouble');
    await until(isLogged, { what: 'a refusal to be logged' });
    await refuse(false);

    const reader = new LedgerReader(client, keys);
    const accepted = async () =>
      what === 'list'
        ? (await reader.read('b'))?.counts.accepted
        : client.zcard(keys.noticesIn('completed'));
    await until(async () => (await accepted()) === NOTICES, { what: 'all to be done', ...LONG });
    const { events } = await readNoticeEvents(client, keys, '0', 1_000);
    const isEach = what === 'list' ? 0 : NOTICES;
    expect(new Set(events.map(({ notice }) => notice)).size).toBe(isEach);
    expect(events.filter(({ state }) => state !== 'accepted')).toEqual([]);
    expect([...service.contacts()].map(({ count }) => count)).toEqual(Array(NOTICES).fill(1));
    expect(await readPossiblySentTwice(client, keys)).toEqual({ notices: 0, chunks: 0 });
  });

  it('whose event Redis refuses lastingly does not keep the next job from being sent', async () => {
    const line = await lines.direct({ ...ENV, CONCURRENCY: '1' });
    const { emulator: service } = line;
    const keys = keysOf(line.prefix, 'default');
    const board = bullQueue(QUEUE_NAME, client, keys);
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
    const line = await lines.direct({ ...ENV, ...user });
    const { emulator: service } = line;
    service.addFault({ on: 'send', latencyMs: LATENCY_MS });
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
