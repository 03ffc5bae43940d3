import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { HoldGate } from '../../../src/fleet/hold/hold-gate.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { decideOutcome } from '../../../src/service/outcome-table.ts';
import type { SendAnswer } from '../../../src/service/response/send-answer.ts';
import { backoffMs } from '../../../workers/queue/attempt-error.ts';
import { SendGate } from '../../../workers/send/send-gate.ts';
import { testRedis } from '../../support/redis.ts';
import { VirtualRedis, virtualTime } from './support/virtual-redis.ts';
import { NOT_REFUSED } from '../../support/not-refused.ts';

const redis = testRedis();
let time: ReturnType<typeof virtualTime>;
beforeAll(() => {
  time = virtualTime();
});
afterAll(() => time.restore());

const SETTINGS = {
  probeMinMs: 1_000,
  probeMaxMs: 60_000,
  retryAfterMaxMs: 60_000,
  probeTtlMs: 30_000,
};
const ATTEMPTS = 10;
const BACKOFF = { backoffBaseMs: 1_000, backoffCapMs: 300_000 };
const ANSWERED = {
  stage: 'answered',
  body: 'json',
  refused: [],
  requests: 2,
  durationMs: 1,
} as const;
/** From one request to the next. */
const BETWEEN_MS = 100;

/**
 * The attempts of a notice whose sender key the service does not know. After each of them another notice is
 * accepted with the same token.
 *
 * @param isReplaced whether that token is replaced before the next attempt
 */
async function refuse(isReplaced: boolean) {
  const keys = keysOf(redis.freshPrefix(), 'default');
  const { current } = keys.token('pair');
  const virtual = new VirtualRedis(redis, keys.hold, undefined);
  const listeners = new Map<string, (text: string | undefined) => void>();
  const hints = {
    subscribe: (channel: string, listener: (text: string | undefined) => void) => {
      listeners.set(channel, listener);
      return () => {};
    },
  };
  const holds = new HoldGate(virtual.client, hints, keys, current, SETTINGS);
  holds.start();
  const gate = new SendGate({
    isSuspended: () => false,
    isComplete: () => Promise.resolve(true),
    holds,
    rateLimiter: { throttled: () => Promise.resolve() },
    refusal: NOT_REFUSED,
    log: { trouble: () => {} },
  });
  const send = async (job: string, answer: SendAnswer): Promise<Outcome | undefined> => {
    virtual.now += BETWEEN_MS;
    const passage = await gate.enter({ job, possiblySent: 0 });
    if (passage === undefined || 'asideMs' in passage) throw new Error(`${job} had to wait`);
    const attempted = { outcome: decideOutcome(answer), answer, requestedAt: virtual.now };
    const outcome = await gate.leave(attempted, passage, job);
    for (const [channel, text] of await virtual.published()) listeners.get(channel)?.(text);
    return outcome;
  };

  return time.of(virtual, async () => {
    const outcomes: unknown[] = [];
    const begunAt = virtual.now;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const tokenId = `T${isReplaced ? attempt : 1}`;
      await redis.client.hset(current, 'id', tokenId);
      const outcome = await send('bad', {
        ...ANSWERED,
        status: 401,
        code: 'SENDER_UNKNOWN',
        tokenId,
      });
      outcomes.push(outcome);
      if (outcome?.kind !== 'retry' || attempt === ATTEMPTS) break;
      await send(`good ${attempt}`, { ...ANSWERED, status: 200, tokenId });
      virtual.now += backoffMs(attempt, BACKOFF, 1, outcome.backoff);
    }
    return { outcomes, tookMs: virtual.now - begunAt, holds: await redis.client.exists(keys.hold) };
  });
}

it('a notice that is refused again with the same token is rejected at its second attempt', async () => {
  const { outcomes, tookMs, holds } = await refuse(false);
  expect(outcomes.at(-1)).toEqual({ kind: 'rejected', code: 'SENDER_UNKNOWN', own: true });
  expect([outcomes.length, holds]).toEqual([2, 0]);
  expect(tookMs).toBeLessThan(2_000);
});

// A good notice whose requests always reach a node of the service that does not know the newest token yet
// leaves the same evidence: so it is not rejected sooner (docs/decisions.md).
it('a notice whose token is replaced before each attempt ends by its attempts, within 48 minutes, and holds nobody', async () => {
  const { outcomes, tookMs, holds } = await refuse(true);
  const counted = { kind: 'retry', code: 'SENDER_UNKNOWN', counted: true, backoff: 'far' };
  expect(outcomes).toEqual(Array.from({ length: ATTEMPTS }, () => counted));
  expect(holds).toBe(0);
  expect(tookMs).toBeGreaterThan(47 * 60_000);
  expect(tookMs).toBeLessThan(48 * 60_000);
});
