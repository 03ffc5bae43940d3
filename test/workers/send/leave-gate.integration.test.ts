import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { HoldKind } from '../../../src/contracts/hold.ts';
import { readHold } from '../../../src/fleet/hold/current-hold.ts';
import { HoldGate } from '../../../src/fleet/hold/hold-gate.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import { SendGate } from '../../../workers/send/send-gate.ts';
import { testRedis } from '../../support/redis.ts';
import { NOT_REFUSED } from '../../support/not-refused.ts';

const SETTINGS = {
  probeMinMs: 200,
  probeMaxMs: 1_000,
  retryAfterMaxMs: 60_000,
  probeTtlMs: 5_000,
};

describe('the hold that an attempt leaves behind', () => {
  const redis = testRedis();

  /** Leaves a gate with such an outcome; answers how long Redis then holds the queue. */
  async function holdFor(hold: HoldKind, forMs: number | undefined): Promise<number> {
    const keys = keysOf(redis.freshPrefix(), 'default');
    const gate = new HoldGate(
      redis.client,
      { subscribe: () => () => {} },
      keys,
      keys.token('pair').current,
      SETTINGS,
    );
    const sendGate = new SendGate({
      isSuspended: () => false,
      isComplete: () => Promise.resolve(true),
      holds: gate,
      rateLimiter: { throttled: () => Promise.resolve() },
      refusal: NOT_REFUSED,
      log: new AttemptLog(pino({ level: 'silent' })),
    });
    const passage = await sendGate.enter({ job: 'job', possiblySent: 0 });
    if (passage === undefined || 'asideMs' in passage) throw new Error('the gate is closed');
    const outcome = { kind: 'hold', hold, code: 'CODE' } as const;
    const held = forMs === undefined ? outcome : { ...outcome, forMs };
    await sendGate.leave({ outcome: held }, passage, 'job');
    const placed = await readHold(redis.client, keys);
    expect(placed?.kind).toBe(hold);
    return (placed?.nextProbeAt ?? NaN) - (placed?.since ?? NaN);
  }

  it.each<[HoldKind, number | undefined, number]>([
    ['throttled', 0, 1_000],
    ['throttled', 999, 1_000],
    ['throttled', 3_000, 3_000],
    ['throttled', undefined, SETTINGS.probeMinMs],
    ['token-unavailable', 125, 125],
    // A Retry-After that is over says nothing: the intervals of the probes double.
    ['failing', 0, SETTINGS.probeMinMs],
    ['failing', 125, 125],
  ])('%s, for %s ms: lasts %d ms', async (hold, forMs, lasts) => {
    expect(await holdFor(hold, forMs)).toBe(lasts);
  });
});
