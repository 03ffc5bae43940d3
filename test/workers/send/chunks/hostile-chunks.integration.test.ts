import { constants, deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { queueChunks } from '../../../../src/batch/import/queue-chunks.ts';
import { Ledger } from '../../../../src/batch/ledger/ledger.ts';
import type { Emulator } from '../../../../src/emulator/emulator.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../../../../src/redis/keys.ts';
import { buildBatch, contacts } from '../../../batch/support/built-batch.ts';
import { run } from '../../../cli/support/run.ts';
import { room } from '../../../service-coverage/support/line.ts';
import { until } from '../../../support/wait.ts';
import { bullQueue } from '../../../support/bull-queue.ts';

const lines = room();
const { redis } = lines;

const MIB = 1_048_576;
const REFUSED = '01000009999';
const [FIRST = { contact: '' }, SECOND = { contact: '' }, THIRD = { contact: '' }] = contacts(3);

const FRAME = '{"templateCode":"T","scheduleType":"DIRECTLY"}';
/** A payload as importers store it, with other contents. */
const stored = (json: string) => Buffer.concat([Buffer.of(1), deflateRawSync(json)]);

/** A megabyte of blanks that another one can follow. */
const BLANKS = deflateRawSync(Buffer.alloc(MIB, ' '), { finishFlush: constants.Z_FULL_FLUSH });

/** A payload of so many megabytes of blanks. */
const bomb = (megabytes: number) =>
  Buffer.concat([Buffer.of(1), ...Array<Buffer>(megabytes).fill(BLANKS), deflateRawSync('')]);

/** Send requests that were answered, whatever with. */
const requestsTo = (emulator: Emulator): number =>
  Object.values(emulator.record().answers.send).reduce((sum, count) => sum + count, 0);

/** A worker, and a service that refuses one number. */
async function start() {
  const { emulator, prefix } = await lines.direct(
    { BATCH_CONCURRENCY: '1', ATTEMPTS: '2' },
    { rejectContacts: [REFUSED] },
  );
  const keys = keysOf(prefix, 'default');
  const ledger = new Ledger(redis.client, keys);
  const queue = bullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
  /** Stores a batch whose chunks are counted as of two contacts each, and waits until it is over. */
  const end = async (...payloads: readonly Buffer[]) => {
    const plan = { frame: FRAME, chunkSize: 2 };
    await buildBatch(redis.client, prefix, 'hostile', [], { plan, importing: true });
    for (const [chunk, payload] of payloads.entries()) {
      await ledger.store('hostile', { chunk, size: 2, rows: 2 * chunk + 2, payload });
    }
    await ledger.endImport('hostile', 0, 0);
    await queueChunks(ledger, queue, 'hostile');
    const isOver = async () => {
      const batch = await ledger.read('hostile');
      return batch?.phase === 'finished' && batch.counts;
    };
    return until(isOver, { what: 'the end of the batch', deadlineMs: 20_000 });
  };
  /** The codes with which contacts of the batch failed, as a person sees them. */
  const codes = async () => {
    const shown = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
    const { stdout } = await run(['failures', 'hostile', '--json'], shown);
    const { groups } = JSON.parse(stdout) as { groups: { code: string }[] };
    return groups.map(({ code }) => code);
  };
  /** Sends a batch as importers make it: the worker goes on. */
  const sendsOn = async () => {
    await buildBatch(redis.client, prefix, 'good', [[THIRD]], { plan: { frame: FRAME } });
    await queueChunks(ledger, queue, 'good');
    const isSent = async () => (await ledger.read('good'))?.counts.accepted === 1;
    await until(isSent, { what: 'a batch after it', deadlineMs: 20_000 });
  };
  return { emulator, keys, queue, end, codes, sendsOn };
}

describe('stored contacts that no importer makes', () => {
  it.each<readonly [string, Buffer]>([
    ['compressed in another way', Buffer.concat([Buffer.of(1), gzipSync('[{},{}]')])],
    ['not compressed', Buffer.from(`\u0001${JSON.stringify([FIRST, SECOND])}`)],
    ['cut off', stored(JSON.stringify([FIRST, SECOND])).subarray(0, -4)],
    ['encrypted with nothing', Buffer.of(3, 1, 2, 3)],
    ['empty', Buffer.alloc(0)],
  ])('%s: the batch ends without a request', async (_, payload) => {
    const { emulator, end, codes, sendsOn } = await start();
    expect(await end(payload)).toMatchObject({ rejected: 2, pending: 0, sending: 0 });
    expect(await codes()).toEqual(['PAYLOAD_UNREADABLE']);
    expect(requestsTo(emulator)).toBe(0);
    await sendsOn();
  });

  it('that fill memory when they are opened: the batch ends, and the memory is free again', async () => {
    const { emulator, end, codes, sendsOn } = await start();
    const before = process.memoryUsage().rss;
    expect(await end(bomb(257), bomb(400), bomb(257), bomb(257))).toMatchObject({ rejected: 8 });
    expect(await codes()).toEqual(['PAYLOAD_UNREADABLE']);
    expect(process.memoryUsage().rss - before).toBeLessThan(800 * MIB);
    expect(requestsTo(emulator)).toBe(0);
    await sendsOn();
  }, 60_000);

  it.each<readonly [string, string]>([
    ['an object', JSON.stringify(FIRST)],
    ['a text', '"[]"'],
    ['nothing', 'null'],
    ['no JSON', '[{"contact":'],
    ['JSON of many levels', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['of more contacts than are counted', JSON.stringify([FIRST, { contact: REFUSED }, SECOND])],
    ['of fewer contacts than are counted', JSON.stringify([{ contact: REFUSED }])],
    ['of none', '[]'],
  ])('%s, which the service refuses: the batch ends after one request', async (_, json) => {
    const { emulator, end, codes, sendsOn } = await start();
    expect(await end(stored(json))).toMatchObject({ rejected: 2, accepted: 0, pending: 0 });
    expect(await codes()).toEqual(['PAYLOAD_UNREADABLE']);
    expect(requestsTo(emulator)).toBe(1);
    await sendsOn();
  });

  it('of another number than is counted, which the service accepts: each is sent once', async () => {
    const { emulator, end, sendsOn } = await start();
    const payloads = [stored(JSON.stringify([FIRST])), stored(JSON.stringify(contacts(3, 10)))];
    expect(await end(...payloads)).toMatchObject({ accepted: 4, rejected: 0, pending: 0 });
    expect(emulator.record()).toMatchObject({ requests: 2, contacts: 4 });
    await sendsOn();
  });
});

it('jobs of chunks with data that no importer writes end, and the worker goes on', async () => {
  const { emulator, keys, queue, sendsOn } = await start();
  const hostile = [
    '',
    'null',
    '[]',
    '{}',
    '{"v":1,',
    '{"v":1}',
    '"\\ud800"',
    '{"v":1,"batch":"a:b","chunk":0}',
    '{"v":1,"batch":"good","chunk":-1}',
    '{"v":1,"batch":"good","chunk":0.5}',
    '{"v":1,"batch":"good","chunk":1e21}',
    '{"v":1,"batch":"good","chunk":"0"}',
    '{"v":1,"batch":["good"],"chunk":0}',
    '{"v":1,"batch":"good","chunk":0,"frame":{"templateCode":"X"}}',
    '{"__proto__":{"v":1,"batch":"good","chunk":0}}',
    `{"v":1,"batch":"${'a'.repeat(MIB)}","chunk":0}`,
    `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  ];
  // Batches and chunks that do not exist are done at once.
  const unknown = ['{"v":1,"batch":"none","chunk":0}', '{"v":1,"batch":"good","chunk":999}'];
  await queue.pause();
  for (const data of [...hostile, ...unknown]) {
    const { id = '' } = await queue.add('chunk', {});
    await redis.client.hset(keys.chunkLock(id).replace(/:lock$/, ''), 'data', data);
  }
  await queue.resume();
  const left = async () => {
    const { waiting, active, prioritized, delayed } = await queue.getJobCounts();
    return [waiting, active, prioritized, delayed].every((count) => (count ?? 0) === 0);
  };
  await until(left, { what: 'every job to end', deadlineMs: 20_000 });
  await sendsOn();
  expect(requestsTo(emulator)).toBe(1);
  const failed = await queue.getJobs(['failed']);
  expect(failed.map(({ failedReason }) => failedReason)).toEqual(
    hostile.map(() => expect.stringContaining('JOB_INVALID') as string),
  );
}, 60_000);
