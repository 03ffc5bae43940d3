import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Queue } from 'bullmq';
import { afterEach, expect, it } from 'vitest';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { encodePayload } from '../../../src/payload/chunk-payload.ts';
import { queueChunks } from '../../../src/batch/import/queue-chunks.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

const redis = testRedis();
let fleet: Fleet | undefined;
let queue: Queue | undefined;
let server: Server | undefined;

afterEach(async () => {
  await queue?.close();
  await fleet?.close();
  server?.closeAllConnections();
  server?.close();
});

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** A service that issues a token and takes any bytes at all. */
async function takeAnything(): Promise<{ url: string; bodies: Buffer[] }> {
  const bodies: Buffer[] = [];
  const listening = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const isToken = request.url === '/api/v2/token';
      if (!isToken) bodies.push(body);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data: isToken ? { token: 'a.token.of-the-service' } : {} }));
    });
  });
  server = listening;
  listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, bodies };
}

/**
 * What a worker parses or builds anew would not survive: these contacts are no JSON at all, hold
 * numbers that JSON.parse would round, and bytes that are no text.
 */
it('the contacts of an accepted chunk travel as the bytes they are, unread', async () => {
  const contacts = Buffer.concat([
    Buffer.from('[{"contact":"01000000001","var1": 12345678901234567890.10,  "var1":"홍"},\n'),
    Buffer.from([0x00, 0xff, 0xfe, 0xc3, 0x28]),
    Buffer.from('}} this is no JSON ['),
  ]);
  const { url, bodies } = await takeAnything();
  const prefix = redis.freshPrefix();
  const keys = keysOf(prefix, 'default');
  const ledger = new Ledger(redis.client, keys);
  queue = openBullQueue(CHUNK_QUEUE_NAME, redis.connect({ name: 'chunks' }), keys);
  const plan = {
    frame: JSON.stringify({ templateCode: 'BATCH', scheduleType: 'DIRECTLY' }),
    templateCode: 'BATCH',
    chunkSize: 1_000,
    delivery: 'at-least-once',
    expiresAt: 0,
    rate: 0,
    bisect: true,
  } as const;
  await ledger.start('raw', plan, 'f', 3_600_000);
  await ledger.store('raw', {
    chunk: 0,
    size: 1_000,
    rows: 1,
    payload: await encodePayload(contacts),
  });
  await ledger.endImport('raw', 0, 0);
  await queueChunks(ledger, queue, 'raw');

  fleet = await startFleet({ redisUrl: redis.url, prefix, processes: 1, env: { BASE_URL: url } });
  await until(async () => (await ledger.read('raw'))?.counts.accepted === 1_000, {
    what: 'the chunk to be accepted',
    deadlineMs: 30_000,
  });
  const frame = Buffer.from('{"templateCode":"BATCH","scheduleType":"DIRECTLY","contacts":');
  expect(bodies).toHaveLength(1);
  expect(bodies[0]?.equals(Buffer.concat([frame, contacts, Buffer.from('}')]))).toBe(true);
}, 60_000);
