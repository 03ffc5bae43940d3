import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { startTestStack, waitFor } from '../../src/testing/index.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();
const server = { url: redis.url };
const NOTICE = { templateCode: 'SHIPPED', contacts: [{ contact: '01012345678', var1: 'Kim' }] };

it('sends from end to end with a prefix of its own, and leaves no key', async () => {
  const queue = { payloadKey: randomBytes(32).toString('base64') };
  const stack = await startTestStack({ redis: server, queue });
  const other = await startTestStack({ redis: server });
  const { id } = await stack.notices.send(NOTICE);
  await waitFor(async () => (await stack.notices.get(id)).state === 'accepted');
  expect(stack.emulator.details()).toMatchObject([
    { contact: '01012345678', vars: { var1: 'Kim' }, templateCode: 'SHIPPED' },
  ]);
  expect(other.emulator.record().contacts).toBe(0);
  expect((await redis.client.keys(`{${stack.prefix}:*`)).length).toBeGreaterThan(5);

  await Promise.all([stack.stop(), other.stop(), stack.stop()]);
  expect(await redis.client.keys('{test-*')).toEqual([]);
  await expect(fetch(stack.emulator.url)).rejects.toThrow('fetch failed');
}, 60_000);

it('leaves nothing behind where it cannot start', async () => {
  const worker = { UNKNOWN_RESENDS: 'many' };
  await expect(startTestStack({ redis: server, worker })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
  expect(await redis.client.keys('{test-*')).toEqual([]);
});

it('says in time that there is no Redis', async () => {
  const none = { url: 'redis://127.0.0.1:1' };
  await expect(startTestStack({ redis: none, timeoutMs: 500 })).rejects.toMatchObject({
    code: 'QUEUE_UNAVAILABLE',
  });
});

it('waits no longer than told, and says what it saw', async () => {
  const look = () => waitFor(() => 0, { timeoutMs: 30, everyMs: 5 });
  await expect(look()).rejects.toThrow('waited 30 ms; seen last: 0');
});
