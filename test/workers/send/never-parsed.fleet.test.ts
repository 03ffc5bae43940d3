import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { queueChunks } from '../../../src/batch/import/queue-chunks.ts';
import { encodePayload } from '../../../src/payload/chunk-payload.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../../../src/redis/keys.ts';
import { buildBatch } from '../../batch/support/built-batch.ts';
import { fleetOn } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { bullQueue } from '../../support/bull-queue.ts';

const redis = testRedis();

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** A service that issues a token and takes any bytes at all. */
async function takeAnything(): Promise<{ url: string; bodies: Buffer[] }> {
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const isToken = request.url === '/api/v2/token';
      if (!isToken) bodies.push(body);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data: isToken ? { token: 'a.token.of-the-service' } : {} }));
    });
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
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
  const plan = { frame: '{"templateCode":"BATCH","scheduleType":"DIRECTLY"}' };
  const options = { plan, importing: true };
  const batch = await buildBatch(redis.client, prefix, 'raw', [], options);
  const { ledger } = batch;
  const payload = await encodePayload(contacts);
  await ledger.store('raw', { chunk: 0, size: 1_000, rows: 1, payload });
  await ledger.endImport('raw', 0, 0);
  const queue = bullQueue(CHUNK_QUEUE_NAME, redis.client, keysOf(prefix, 'default'));
  await queueChunks(ledger, queue, 'raw');

  const env = { BASE_URL: url };
  await fleetOn(redis, { prefix, env });
  await until(async () => (await batch.read()).counts.accepted === 1_000, {
    what: 'the chunk to be accepted',
    deadlineMs: 30_000,
  });
  const frame = Buffer.from('{"templateCode":"BATCH","scheduleType":"DIRECTLY","contacts":');
  expect(bodies).toHaveLength(1);
  expect(bodies[0]?.equals(Buffer.concat([frame, contacts, Buffer.from('}')]))).toBe(true);
}, 60_000);
