import { expect, it } from 'vitest';
import { Hints, HINTS_CHECK_MS } from '../../src/redis/hints.ts';
import type { FaultProxy } from '../support/fault-proxy.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { connectThrough } from './support/connect-through.ts';
import { callsByCommand } from '../token/support/server-calls.ts';

/** Within this time a connection that died in silence must be replaced, in milliseconds. */
const SOON_MS = 10_000;

const redis = testRedis();

/** A subscriber of one channel, and what it heard: texts, and `gap` where hints may have been lost. */
async function subscriber(channel: string) {
  const { client, proxy } = await connectThrough(redis.url, 'subscriber');
  const heard: string[] = [];
  const hints = new Hints(client);
  hints.subscribe(channel, (text) => heard.push(text ?? 'gap'));
  await until(() => heard.length > 0, { what: 'the subscription' });
  return { hints, heard, proxy };
}

/** Every byte of the connections that are open is lost for good, without a reset. */
async function vanish(proxy: FaultProxy, publish: () => Promise<unknown>): Promise<void> {
  await proxy.place({ kind: 'black-hole', after: 'dead' });
  await publish();
  await until(() => proxy.struck > 0, { what: 'the hint to get lost' });
  await proxy.heal();
}

it('a subscriber whose connection dies in silence hears of the gap within seconds, and of what follows', async () => {
  const channel = `${redis.prefix}:silence`;
  const { heard, proxy } = await subscriber(channel);
  await vanish(proxy, () => redis.client.publish(channel, 'lost'));
  await until(() => heard.length > 1, { what: 'the gap', deadlineMs: SOON_MS });
  await redis.client.publish(channel, 'next');
  await until(() => heard.includes('next'), { what: 'the next hint' });
  expect(heard).toEqual(['gap', 'gap', 'next']);
}, 30_000);

it('a subscription costs one command in each interval of the check, however many channels', async () => {
  const channel = `${redis.prefix}:cost`;
  const { hints } = await subscriber(channel);
  const gaps: string[] = [];
  for (const name of ['two', 'three', 'four']) {
    hints.subscribe(`${channel}:${name}`, () => gaps.push(name));
  }
  await until(() => gaps.length === 3, { what: 'the subscriptions' });
  const counted = () => callsByCommand(redis.client);
  const before = await counted();
  const startedAt = performance.now();
  const checks = async () => (await counted()).get('subscribe') ?? 0;
  const first = before.get('subscribe') ?? 0;
  await until(async () => (await checks()) >= first + 3, { what: 'three checks', everyMs: 100 });
  expect(performance.now() - startedAt).toBeGreaterThan(2 * HINTS_CHECK_MS - 500);
  const after = await counted();
  after.delete('info');
  const grown = [...after].flatMap(([name, count]) =>
    count === before.get(name) ? [] : [[name, count - (before.get(name) ?? 0)]],
  );
  expect(grown).toEqual([['subscribe', 3]]);
  // A connection that is in order has no gaps.
  expect(gaps).toHaveLength(3);
}, 30_000);
