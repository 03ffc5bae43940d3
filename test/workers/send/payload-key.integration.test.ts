import { afterEach, describe, expect, it } from 'vitest';
import { LedgerReader } from '../../../src/batch/ledger/ledger-reader.ts';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import { readWorkers } from '../../../src/fleet/heartbeat.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { room } from '../../service-coverage/support/line.ts';
import { numbers } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';
import { connectionAs } from '../../support/redis-users.ts';

const KEY = '42'.repeat(32);
const OTHER_KEY = '43'.repeat(32);
const CONTACTS = 30;

const lines = room();
const { redis } = lines;
let emulator: Emulator | undefined;
let queue: NoticeQueue | undefined;

afterEach(async () => {
  await queue?.close();
  await emulator?.close();
});

it('a batch waits for a worker that has its key; one without it is not ready, with the reason', async () => {
  emulator = await startEmulator();
  const service = emulator;
  const line = await lines.line(service.url, { PAYLOAD_KEY: OTHER_KEY, HEARTBEAT_MS: '100' });
  const keys = keysOf(line.prefix, 'default');
  const unready = async () =>
    (await readWorkers(redis.client, keys)).flatMap(({ unready: reasons = [] }) =>
      reasons.map(({ reason }) => reason),
    );
  queue = new NoticeQueue({
    redis: connectionAs('application', redis.url),
    prefix: line.prefix,
    payloadKey: KEY,
  });
  const { batch } = await queue.import(
    numbers(CONTACTS).map((contact) => ({ contact })),
    { templateCode: 'T', chunkSize: 10 },
  );
  await until(async () => (await unready()).includes('payload-key'), { what: 'it to be unready' });
  const states = async () => {
    const found = await new LedgerReader(redis.client, keys).read(batch);
    const { pending, rejected, accepted } = found?.counts ?? {};
    return { pending, rejected, accepted };
  };
  const inFlight = () => redis.client.hlen(keys.batch(batch).inflight);
  await until(async () => (await inFlight()) === 0, { what: 'the chunks to be returned' });
  expect(await states()).toEqual({ pending: CONTACTS, rejected: 0, accepted: 0 });
  expect(service.record().requests).toBe(0);

  await line.restart({ PAYLOAD_KEY: OTHER_KEY, PAYLOAD_KEY_PREVIOUS: KEY });
  await until(async () => (await states()).accepted === CONTACTS, {
    what: 'all to be accepted',
    deadlineMs: 20_000,
  });
  expect(await states()).toEqual({ pending: 0, rejected: 0, accepted: CONTACTS });
  await until(async () => (await unready()).length === 0, { what: 'it to be ready' });
});

describe('a worker without the key', () => {
  it('alone takes few jobs, and no more commands', async () => {
    emulator = await startEmulator();
    const line = await lines.line(emulator.url, { PAYLOAD_KEY: OTHER_KEY, HEARTBEAT_MS: '100' });
    const keys = keysOf(line.prefix, 'default');
    queue = new NoticeQueue({
      redis: connectionAs('application', redis.url),
      prefix: line.prefix,
      payloadKey: KEY,
    });
    const notices = numbers(300).map((contact) => ({ templateCode: 'T', contacts: [{ contact }] }));
    const ids = (await queue.sendMany(notices)).map(({ id }) => id);
    const runs = async () => {
      const counts = await Promise.all(
        ids.map((id) => redis.client.hget(keys.noticeJob(id), 'ats')),
      );
      return counts.reduce((sum, count) => sum + Number(count ?? 0), 0);
    };
    const unready = async () =>
      (await readWorkers(redis.client, keys)).some(({ unready: reasons = [] }) =>
        reasons.some(({ reason }) => reason === 'payload-key'),
      );
    await until(unready, { what: 'it to be unready' });
    const waiting = () => redis.client.llen(keys.noticesIn('wait'));
    await until(async () => (await waiting()) === 300, { what: 'the return of all jobs' });
    const before = await runs();
    expect(before).toBeLessThan(20);

    await line.addWorker({ PAYLOAD_KEY: KEY });
    const since = performance.now();
    const service = emulator;
    await until(() => service.record().distinct === 300, { what: 'all to be sent' });
    expect(performance.now() - since).toBeLessThan(5_000);
    expect(await runs()).toBe(before + 300);
  });

  it('of the account lets a job of another key wait, and sends the others', async () => {
    emulator = await startEmulator();
    const line = await lines.line(emulator.url, { PAYLOAD_KEY: KEY });
    const open = (payloadKey: string) =>
      new NoticeQueue({
        redis: connectionAs('application', redis.url),
        prefix: line.prefix,
        payloadKey,
      });
    queue = open(KEY);
    const stranger = open(OTHER_KEY);
    const send = (by: NoticeQueue, contact: string) =>
      by.send({ templateCode: 'T', contacts: [{ contact }] });
    await send(queue, '01000000001');
    const { id } = await send(stranger, '01000000002');
    await send(queue, '01000000003');
    await stranger.close();
    const service = emulator;
    await until(() => service.record().distinct === 2, { what: 'the others' });
    expect(await queue.get(id)).toMatchObject({ state: 'pending', attempts: 0 });
  });
});
