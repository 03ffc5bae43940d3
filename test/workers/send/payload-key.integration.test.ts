import { afterEach, expect, it } from 'vitest';
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
  expect(await unready()).toEqual([]);
});
