import { afterEach } from 'vitest';
import { keysOf, type Keys } from '../../../src/redis/keys.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

/** A slot may be used for 200 ms; the rest is for a machine that stands still for a moment. */
const LATE_MS = 1_200;

/** The most requests of any stretch of time beyond what the rate limit allows for it. */
export function beyondPace(times: readonly number[], perSecond: number): number {
  let worst = -Infinity;
  for (const [first, from] of times.entries()) {
    for (let last = first; last < times.length; last++) {
      const allowed = 1 + (perSecond * ((times[last] ?? 0) - from + LATE_MS)) / 1_000;
      worst = Math.max(worst, last - first + 1 - allowed);
    }
  }
  return worst;
}

/** A fleet of two processes whose requests can be counted. */
export function limitedFleet() {
  const redis = testRedis();
  let fleet: Fleet | undefined;

  afterEach(async () => {
    await fleet?.close();
    fleet = undefined;
  });

  async function start(
    env: Readonly<Record<string, string>>,
  ): Promise<Fleet & { readonly keys: Keys }> {
    const prefix = redis.freshPrefix();
    const started = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 2,
      // A rate limit counts requests: one for each notice makes them countable.
      env: { CONCURRENCY: '16', BATCH_CONCURRENCY: '8', ...env },
    });
    fleet = started;
    return { ...started, keys: keysOf(prefix, 'default') };
  }

  /** When each request was accepted, by the record of the emulator. */
  function acceptedAt(on: Fleet): number[] {
    const byRequest = new Map(on.emulator.details().map(({ requestId, at }) => [requestId, at]));
    return [...byRequest.values()].sort((a, b) => a - b);
  }

  const untilAccepted = (on: Fleet, count: number, deadlineMs = 60_000) =>
    until(() => on.emulator.record().requests >= count, { what: `${count} requests`, deadlineMs });

  const falls = (on: Fleet) =>
    on.workers.flatMap(({ lines }) =>
      lines.filter(({ event }) => event === 'rate-limit-decreased'),
    );

  return { redis, start, acceptedAt, untilAccepted, falls };
}
