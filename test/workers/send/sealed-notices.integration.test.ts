import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { queueChunks } from '../../../src/batch/import/queue-chunks.ts';
import type { BatchPlan } from '../../../src/batch/ledger/batch-record.ts';
import { LedgerReader } from '../../../src/batch/ledger/ledger-reader.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { encodePayload } from '../../../src/payload/chunk-payload.ts';
import { batchSeal, sealingOf } from '../../../src/payload/seal.ts';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import { readWorkers } from '../../../src/fleet/heartbeat.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { findContact } from '../../../src/search/find-contact.ts';
import { run } from '../../cli/support/run.ts';
import { acceptedNumbers, room } from '../../service-coverage/support/line.ts';
import { until } from '../../support/wait.ts';
import { connectionAs } from '../../support/redis-users.ts';

const KEY = '42'.repeat(32);
const FIND_KEY = '44'.repeat(32);
const NUMBER = '01012345678';
const SECRET = 'canary-variable';
const NOTICE = { templateCode: 'T', contacts: [{ contact: NUMBER, var1: SECRET }] };
const HOUR = 3_600_000;

const PLAN: BatchPlan = {
  frame: '{"templateCode":"T"}',
  templateCode: 'T',
  chunkSize: 1,
  delivery: 'at-least-once',
  expiresAt: 0,
  rate: 0,
  bisect: true,
};

describe('a single notice with PAYLOAD_KEY', () => {
  const lines = room();
  const { redis } = lines;
  let emulator: Emulator;
  const queues: NoticeQueue[] = [];

  beforeEach(async () => {
    emulator = await startEmulator();
  });
  afterEach(async () => {
    for (const queue of queues.splice(0)) await queue.close();
    await emulator.close();
  });

  /** A worker, and a producer, each with its own key. */
  async function lineWith(worker: Readonly<Record<string, string>>, payloadKey?: string) {
    const line = await lines.line(emulator.url, { HEARTBEAT_MS: '100', ...worker });
    const { prefix } = line;
    const keys = keysOf(prefix, 'default');
    const queue = new NoticeQueue({
      redis: connectionAs('application', redis.url),
      prefix,
      payloadKey,
      findKey: FIND_KEY,
    });
    queues.push(queue);
    const unready = async () =>
      (await readWorkers(redis.client, keys)).flatMap(({ unready: reasons = [] }) =>
        reasons.map(({ reason }) => reason),
      );
    const cli = (command: string[], key = KEY) =>
      run(command, {
        REDIS_URL: redis.url,
        REDIS_PREFIX: prefix,
        FIND_KEY,
        ...(key === '' ? {} : { PAYLOAD_KEY: key }),
      });
    const dataOf = (id: string) => redis.client.hget(keys.noticeJob(id), 'data');
    return { ...line, keys, queue, unready, cli, dataOf };
  }

  it('is stored without its number and variables, delayed or failed, and is sent as it was', async () => {
    emulator.addFault({ on: 'send', status: 404, code: 'TEMPLATE_NOT_FOUND', times: 1 });
    const { queue, stored, cli, prefix } = await lineWith({ PAYLOAD_KEY: KEY }, KEY);
    const failed = await queue.send(NOTICE);
    await until(async () => (await queue.get(failed.id)).state === 'rejected', { what: 'its end' });
    await queue.send(NOTICE, { delay: HOUR, idempotencyKey: 'k' });
    const text = await stored();
    expect(text).toContain(failed.id);
    expect(text).not.toContain(NUMBER);
    expect(text).not.toContain(SECRET);
    expect(await queue.get(failed.id)).toMatchObject({ template: 'T', contacts: 1 });

    const csv = await cli(['failures', '--csv']);
    expect(csv.stdout).toContain(`"${NUMBER}","${SECRET}"`);
    const blind = await cli(['failures', '--csv'], '');
    expect(blind.code).toBe(1);
    expect(blind.stderr).toMatch(/PAYLOAD_UNREADABLE|key that is not configured/);
    const server = { redis: connectionAs('ops', redis.url), prefix, findKey: FIND_KEY };
    const found = await findContact(NUMBER, { ...server, payloadKey: KEY });
    expect(found.notices).toHaveLength(2);
    expect(found.notices).toContainEqual(
      expect.objectContaining({ job: failed.id, template: 'T', states: ['rejected'] }),
    );

    expect((await cli(['decide', failed.id, '--as', 'resend', '--yes'])).code).toBe(0);
    await until(() => acceptedNumbers(emulator).includes(NUMBER), { what: 'its acceptance' });
    const [taken] = [...emulator.contacts()];
    expect(taken).toMatchObject({ contact: NUMBER });
    expect(await stored()).not.toContain(SECRET);
  });

  it('that is not encrypted is refused, and taken while workers have the key as the previous one', async () => {
    const { queue, keys, restart } = await lineWith({ PAYLOAD_KEY: KEY });
    const { id } = await queue.send(NOTICE);
    const { batch } = await queue.import([{ contact: '01000000001' }], { templateCode: 'T' });
    const counts = async () => (await new LedgerReader(redis.client, keys).read(batch))?.counts;
    await until(async () => (await counts())?.rejected === 1, { what: 'the end of the batch' });
    await until(async () => (await queue.get(id)).state === 'rejected', { what: 'its end' });
    expect(await queue.get(id)).toMatchObject({ code: 'PAYLOAD_UNREADABLE' });
    expect(emulator.record().requests).toBe(0);
    await restart({ PAYLOAD_KEY_PREVIOUS: KEY, PAYLOAD_KEY: '' });
    await queue.send(NOTICE);
    await until(() => acceptedNumbers(emulator).length === 1, { what: 'it to be sent' });
  });

  it('a batch is not sent under the template of another list', async () => {
    const { queue, keys } = await lineWith({ PAYLOAD_KEY: KEY }, KEY);
    const server = openBullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
    await server.pause();
    const list = (contact: string, templateCode: string) =>
      queue.import([{ contact }], { templateCode });
    const [secret, other] = [await list(NUMBER, 'SECRET'), await list('01000000001', 'OTHER')];
    const frame = await redis.client.hget(keys.batch(other.batch).record, 'frame');
    await redis.client.hset(keys.batch(secret.batch).record, { frame: frame ?? '' });
    await server.resume();
    await server.close();
    const counts = async () =>
      (await new LedgerReader(redis.client, keys).read(secret.batch))?.counts;
    await until(async () => (await counts())?.rejected === 1, { what: 'the end of the batch' });
    await until(() => acceptedNumbers(emulator).length === 1, { what: 'the other one' });
    expect(acceptedNumbers(emulator)).toEqual(['01000000001']);
  });

  it('is not sent with the contacts of another one, nor a batch with those of another list', async () => {
    const { queue, keys, dataOf } = await lineWith({ PAYLOAD_KEY: KEY }, KEY);
    const planted = await queue.send(NOTICE, { delay: HOUR });
    const taken = await queue.send(
      { templateCode: 'T', contacts: [{ contact: '01099999999' }] },
      { delay: 2_000 },
    );
    await redis.client.hset(keys.noticeJob(taken.id), 'data', (await dataOf(planted.id)) ?? '');
    await until(async () => (await queue.get(taken.id)).state === 'rejected', { what: 'its end' });
    expect(await queue.get(taken.id)).toMatchObject({ code: 'PAYLOAD_UNREADABLE' });

    const sealing = sealingOf('default', { payloadKey: KEY });
    const otherList = await encodePayload(JSON.stringify(NOTICE.contacts), batchSeal(sealing, 'a'));
    const ledger = new Ledger(redis.client, keys);
    await ledger.start('b', PLAN, 'fingerprint', HOUR);
    await ledger.store('b', { chunk: 0, size: 1, rows: 1, payload: otherList });
    await ledger.endImport('b', 0, 0);
    const chunks = openBullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
    await queueChunks(ledger, chunks, 'b');
    await chunks.close();
    await until(async () => (await ledger.read('b'))?.counts.rejected === 1, {
      what: 'the end of the batch',
    });
    expect(emulator.record().requests).toBe(0);
  });
});
