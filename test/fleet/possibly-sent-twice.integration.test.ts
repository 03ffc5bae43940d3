import { expect, it, onTestFinished } from 'vitest';
import {
  readPossiblySentTwice,
  sentTwiceCounts,
  addTwice,
} from '../../src/fleet/possibly-sent-twice.ts';
import { connectRedis, readyWithin } from '../../src/redis/connect.ts';
import { shaOf } from '../chaos/support/script-sha.ts';
import { faultProxyOf } from '../support/fault-proxy.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();

/** The steps of taking a count back, by a text of their commands. */
const STEPS = [
  { step: 'the mark', when: () => Promise.resolve(':done:') },
  { step: 'the count', when: () => shaOf(addTwice) },
];

it.each(STEPS)(
  'the reply to $step is lost: the connection repeats it, and the count is taken back once',
  async ({ when }) => {
    const { keys } = redis.account();
    const counts = sentTwiceCounts(redis.client, keys);
    await counts.countTwice(8);
    // Otherwise the lost reply is that Redis does not know the script yet.
    await counts.uncountTwice(1);
    const proxy = await faultProxyOf(redis.url);
    const url = proxy.url;
    const settings = { url, sentinels: [], connectTimeoutMs: 2_000 };
    const worker = connectRedis(settings, 'worker', () => {}, 5_000);
    onTestFinished(() => worker.disconnect());
    expect(await readyWithin(worker, 5_000)).toBe(true);
    await proxy.place({ kind: 'drop-reply', when: await when(), times: 1 });
    await sentTwiceCounts(worker, keys).uncountTwice(2);
    expect(proxy.struck).toBe(1);
    expect(await readPossiblySentTwice(redis.client, keys)).toEqual({ notices: 5, chunks: 0 });
    expect(await redis.keys(keys.done(''))).toEqual([]);
  },
);
