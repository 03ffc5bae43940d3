import { describe, expect, it, onTestFinished } from 'vitest';
import { queueChunks } from '../../../src/batch/import/queue-chunks.ts';
import { LedgerReader } from '../../../src/batch/ledger/ledger-reader.ts';
import { readWorkers } from '../../../src/fleet/heartbeat.ts';
import { encodePayload } from '../../../src/payload/chunk-payload.ts';
import { batchSeal, sealingOf } from '../../../src/payload/seal.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../../../src/redis/keys.ts';
import { buildBatch } from '../../batch/support/built-batch.ts';
import { run } from '../../cli/support/run.ts';
import { acceptedNumbers, room } from '../../service-coverage/support/line.ts';
import { numbers } from '../../support/fleet.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { bullQueue } from '../../support/bull-queue.ts';

const KEY = '42'.repeat(32);
const OTHER_KEY = '43'.repeat(32);
const FIND_KEY = '44'.repeat(32);
const NUMBER = '01012345678';
const SECRET = 'canary-variable';
const NOTICE = { templateCode: 'T', contacts: [{ contact: NUMBER, var1: SECRET }] };
const HOUR = 3_600_000;

const lines = room();
const { redis } = lines;

/** A worker and a producer, each with a key of its own, and a service. */
async function lineWith(worker: Readonly<Record<string, string>>, payloadKey?: string) {
  const line = await lines.direct({ HEARTBEAT_MS: '100', ...worker });
  const { prefix } = line;
  const keys = keysOf(prefix, 'default');
  const open = (key?: string) => {
    const connection = connectionAs('application', redis.url);
    const queue = new NoticeQueue({
      redis: connection,
      prefix,
      payloadKey: key,
      findKey: FIND_KEY,
    });
    onTestFinished(() => queue.close());
    return queue;
  };
  const queue = open(payloadKey);
  const isUnready = async () =>
    (await readWorkers(redis.client, keys)).some(({ unready = [] }) =>
      unready.some(({ reason }) => reason === 'payload-key'),
    );
  const cli = (command: string[], key = KEY) =>
    run(command, {
      REDIS_URL: redis.url,
      REDIS_PREFIX: prefix,
      FIND_KEY,
      ...(key === '' ? {} : { PAYLOAD_KEY: key }),
    });
  const untilRejected = async (id: string) => {
    const isRejected = async () => (await queue.get(id)).state === 'rejected';
    await until(isRejected, { what: 'its end' });
    return queue.get(id);
  };
  const countsOf = async (batch: string) =>
    (await new LedgerReader(redis.client, keys).read(batch))?.counts;
  const untilCounted = (batch: string, state: 'rejected' | 'accepted', count = 1) =>
    until(async () => (await countsOf(batch))?.[state] === count, {
      what: `contacts to be ${state}`,
      deadlineMs: 20_000,
    });
  return { ...line, keys, queue, open, isUnready, cli, untilRejected, countsOf, untilCounted };
}

describe('a notice with PAYLOAD_KEY', () => {
  it('is stored without its number and variables, delayed or failed, and is sent as it was', async () => {
    const { queue, stored, cli, emulator, untilRejected } = await lineWith(
      { PAYLOAD_KEY: KEY },
      KEY,
    );
    emulator.addFault({ on: 'send', status: 404, code: 'TEMPLATE_NOT_FOUND', times: 1 });
    const failed = await queue.send(NOTICE);
    await untilRejected(failed.id);
    await queue.send(NOTICE, { delay: HOUR, idempotencyKey: 'k' });
    const text = await stored();
    expect(text).toContain(failed.id);
    expect(text).not.toContain(NUMBER);
    expect(text).not.toContain(SECRET);
    expect(await queue.get(failed.id)).toMatchObject({ template: 'T', contacts: 1 });

    expect((await cli(['failures', '--csv'])).stdout).toContain(`"${NUMBER}","${SECRET}"`);
    const blind = await cli(['failures', '--csv'], '');
    expect(blind.code).toBe(1);
    expect(blind.stderr).toMatch(/PAYLOAD_UNREADABLE|key that is not configured/);
    expect((await cli(['decide', failed.id, '--as', 'resend', '--yes'])).code).toBe(0);
    await until(() => acceptedNumbers(emulator).includes(NUMBER), { what: 'its acceptance' });
    expect(await stored()).not.toContain(SECRET);
  });

  it('that is not encrypted is refused, and taken while workers have the key as the previous one', async () => {
    const { queue, restart, emulator, untilRejected, untilCounted } = await lineWith({
      PAYLOAD_KEY: KEY,
    });
    const { id } = await queue.send(NOTICE);
    const { batch } = await queue.import([{ contact: '01000000001' }], { templateCode: 'T' });
    await untilCounted(batch, 'rejected');
    expect(await untilRejected(id)).toMatchObject({ code: 'PAYLOAD_UNREADABLE' });
    expect(emulator.record().requests).toBe(0);
    await restart({ PAYLOAD_KEY_PREVIOUS: KEY, PAYLOAD_KEY: '' });
    await queue.send(NOTICE);
    await until(() => acceptedNumbers(emulator).length === 1, { what: 'it to be sent' });
  });

  it('is not sent with the contacts of another one, nor a batch with those or the template of another list', async () => {
    const { queue, keys, emulator, prefix, untilRejected, untilCounted } = await lineWith(
      { PAYLOAD_KEY: KEY },
      KEY,
    );
    const planted = await queue.send(NOTICE, { delay: HOUR });
    const other = { templateCode: 'T', contacts: [{ contact: '01099999999' }] };
    const taken = await queue.send(other, { delay: 2_000 });
    const data = await redis.client.hget(keys.noticeJob(planted.id), 'data');
    await redis.client.hset(keys.noticeJob(taken.id), 'data', data ?? '');
    expect(await untilRejected(taken.id)).toMatchObject({ code: 'PAYLOAD_UNREADABLE' });

    const chunks = bullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
    const { ledger } = await buildBatch(redis.client, prefix, 'b', [], { importing: true });
    const seal = batchSeal(sealingOf('default', { payloadKey: KEY }), 'a');
    const payload = await encodePayload(JSON.stringify(NOTICE.contacts), seal);
    await ledger.store('b', { chunk: 0, size: 1, rows: 1, payload });
    await ledger.endImport('b', 0, 0);
    await queueChunks(ledger, chunks, 'b');
    await untilCounted('b', 'rejected');
    expect(emulator.record().requests).toBe(0);

    await chunks.pause();
    const list = (contact: string, templateCode: string) =>
      queue.import([{ contact }], { templateCode });
    const [secret, own] = [await list(NUMBER, 'SECRET'), await list('01000000001', 'OTHER')];
    const frame = await redis.client.hget(keys.batch(own.batch).record, 'frame');
    await redis.client.hset(keys.batch(secret.batch).record, { frame: frame ?? '' });
    await chunks.resume();
    await untilCounted(secret.batch, 'rejected');
    await untilCounted(own.batch, 'accepted');
    expect(acceptedNumbers(emulator)).toEqual(['01000000001']);
  });
});

describe('a worker without the key', () => {
  it('leaves a batch to one that has it, and is not ready, with the reason', async () => {
    const { emulator, restart, queue, keys, isUnready, countsOf, untilCounted } = await lineWith(
      { PAYLOAD_KEY: OTHER_KEY },
      KEY,
    );
    const list = numbers(30).map((contact) => ({ contact }));
    const { batch } = await queue.import(list, { templateCode: 'T', chunkSize: 10 });
    await until(isUnready, { what: 'it to be unready' });
    const inFlight = () => redis.client.hlen(keys.batch(batch).inflight);
    await until(async () => (await inFlight()) === 0, { what: 'the chunks to be returned' });
    expect(await countsOf(batch)).toMatchObject({ pending: 30, rejected: 0, accepted: 0 });
    expect(emulator.record().requests).toBe(0);

    await restart({ PAYLOAD_KEY: OTHER_KEY, PAYLOAD_KEY_PREVIOUS: KEY });
    await untilCounted(batch, 'accepted', 30);
    await until(async () => !(await isUnready()), { what: 'it to be ready' });
  });

  it('alone takes few jobs, and no more commands', async () => {
    const { emulator, addWorker, queue, keys, isUnready } = await lineWith(
      { PAYLOAD_KEY: OTHER_KEY },
      KEY,
    );
    const notices = numbers(300).map((contact) => ({ templateCode: 'T', contacts: [{ contact }] }));
    const ids = (await queue.sendMany(notices)).map(({ id }) => id);
    const runs = async () => {
      const counts = await Promise.all(
        ids.map((id) => redis.client.hget(keys.noticeJob(id), 'ats')),
      );
      return counts.reduce((sum, count) => sum + Number(count ?? 0), 0);
    };
    await until(isUnready, { what: 'it to be unready' });
    const waiting = () => redis.client.llen(keys.noticesIn('wait'));
    await until(async () => (await waiting()) === 300, { what: 'the return of all jobs' });
    const before = await runs();
    expect(before).toBeLessThan(20);

    await addWorker({ PAYLOAD_KEY: KEY });
    const since = performance.now();
    await until(() => emulator.record().distinct === 300, { what: 'all to be sent' });
    expect(performance.now() - since).toBeLessThan(5_000);
    expect(await runs()).toBe(before + 300);
  });

  it('of the account lets a job of another key wait, and sends the others', async () => {
    const { emulator, queue, open } = await lineWith({ PAYLOAD_KEY: KEY }, KEY);
    const send = (by: NoticeQueue, contact: string) =>
      by.send({ templateCode: 'T', contacts: [{ contact }] });
    await send(queue, '01000000001');
    const { id } = await send(open(OTHER_KEY), '01000000002');
    await send(queue, '01000000003');
    await until(() => emulator.record().distinct === 2, { what: 'the others' });
    expect(await queue.get(id)).toMatchObject({ state: 'pending', attempts: 0 });
  });
});
