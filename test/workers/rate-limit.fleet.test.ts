import { describe, expect, it } from 'vitest';
import { readRateLimit, setManualRateLimit } from '../../src/fleet/rate-limit/rate-limit-state.ts';

import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { beyondPace, limitedFleet } from './support/limited-fleet.ts';

describe('a fleet keeps a rate limit', () => {
  const { redis, start, acceptedAt, untilAccepted, falls } = limitedFleet();

  it('a chunk that waits for its slot is not claimed, so a worker that dies leaves no doubt', async () => {
    const on = await start({ RATE_LIMIT: '5' });
    const list = numbers(60).map((contact) => ({ contact }));
    await on.queue.import(list, { templateCode: 'PACE', batchId: 'b', chunkSize: 1 });
    const claimed: number[] = [];
    await until(
      async () => {
        claimed.push(await redis.client.hlen(on.keys.batch('b').inflight));
        return on.emulator.record().requests >= 10;
      },
      { what: 'ten requests', deadlineMs: 30_000, everyMs: 5 },
    );
    // Eight wait in each process, and one is sent now and then.
    expect(Math.max(...claimed)).toBeLessThanOrEqual(4);
  }, 60_000);

  it('changes while it runs', async () => {
    const on = await start({});
    await setManualRateLimit(redis.client, on.keys, 10);
    await on.sendEach(numbers(500));
    await untilAccepted(on, 25);
    expect(beyondPace(acceptedAt(on), 10)).toBeLessThanOrEqual(0);
    expect(await readRateLimit(redis.client, on.keys, 0)).toMatchObject({ manual: 10, now: 10 });
    // At ten a second the rest would take more than 45 s.
    await setManualRateLimit(redis.client, on.keys, 0);
    await untilAccepted(on, 500, 30_000);
    expect(on.emulator.record()).toMatchObject({ twice: 0, distinct: 500 });
  }, 120_000);

  it('falls once for a hold, however many met the 429, and rises again', async () => {
    const on = await start({
      RATE_LIMIT: '80',
      RATE_LIMIT_RECOVERY_MS: '86400000',
      HOLD_PROBE_MIN_MS: '200',
    });
    await on.sendEach(numbers(250));
    await untilAccepted(on, 20);
    // Answered late, so that many are under way together.
    on.emulator.addFault({ on: 'send', status: 429, latencyMs: 500 });
    await until(() => falls(on).length > 0, { what: 'the fall', deadlineMs: 20_000 });
    const held = () => redis.client.exists(on.keys.hold);
    await until(async () => (await held()) === 1, { what: 'the hold', everyMs: 5 });
    on.emulator.clearFaults();
    await until(async () => (await held()) === 0, { what: 'the hold to end', deadlineMs: 20_000 });
    expect(falls(on)[0]).toMatchObject({ from: 80, to: 40 });
    const fallen = await readRateLimit(redis.client, on.keys, 0);
    expect(fallen).toMatchObject({ configured: 80, fall: { from: 80, to: 40 } });
    expect(fallen?.now).toBeLessThan(41);

    const resumed = on.emulator.record().requests;
    await untilAccepted(on, 250);
    expect(falls(on)).toHaveLength(1);
    expect(beyondPace(acceptedAt(on).slice(resumed), 41)).toBeLessThanOrEqual(0);
    expect(on.emulator.record()).toMatchObject({ twice: 0, distinct: 250 });
    expect(on.attempts().every(({ attempt }) => attempt === 1)).toBe(true);
  }, 120_000);
});
