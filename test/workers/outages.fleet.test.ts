import type { Fault } from '../../src/emulator/faults/fault.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { DELIVERY_POLICIES } from '../../src/contracts/outcome.ts';
import { readHold } from '../../src/fleet/hold/hold-scripts.ts';
import { DOUBT_ROW } from '../../src/fleet/hold/trouble.ts';
import { listUnknownNotices } from '../../src/ops/unknown.ts';
import { countEnded } from '../../src/notices/ended.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

/** Delays of at most half a second: ten attempts of a notice are over within it. */
const SCALED = {
  CONCURRENCY: '16',
  ATTEMPTS: '10',
  BACKOFF_BASE_MS: '20',
  BACKOFF_CAP_MS: '60',
  HOLD_PROBE_MIN_MS: '100',
  HOLD_PROBE_MAX_MS: '500',
};
/** Sixteen times those attempts: in proportion, longer than an hour is to the attempts by default. */
const OUTAGE_MS = 8_000;
const NOTICES = 200;
/** The slots of both processes, and what begins in each before a row of failures makes it wait. */
const IN_FLIGHT = 2 * (16 + DOUBT_ROW);

describe.each(DELIVERY_POLICIES)('an outage of the service, %s', (delivery) => {
  const isOnce = delivery === 'at-most-once';
  const redis = testRedis();
  let fleet: Fleet | undefined;

  afterEach(async () => {
    await fleet?.close();
    fleet = undefined;
  });

  async function start() {
    const prefix = redis.freshPrefix();
    const keys = keysOf(prefix, 'default');
    const on = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 2,
      delivery,
      env: SCALED,
    });
    fleet = on;
    await on.sendEach(numbers(4, 900_000));
    await until(() => on.emulator.record().distinct === 4, { what: 'the first ones' });
    const hold = async () => (await readHold(redis.client, keys))?.kind;
    /** Jobs that failed for good, and notices listed as unknown. */
    const lost = async () => {
      const failed = await countEnded(redis.client, keys, ['rejected', 'unknown']);
      const unknown = await listUnknownNotices({ redis: redis.client, keys });
      return { failed, unknown: unknown.length };
    };
    return { on, hold, lost };
  }

  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it.each<[string, Omit<Fault, 'on'>, number]>([
    ['503', { status: 503 }, IN_FLIGHT],
    ['500 after acting', { status: 500, afterActing: true }, IN_FLIGHT],
    ['503 with Retry-After', { status: 503, retryAfter: 1 }, 0],
  ])(
    '%s: held as failing, nothing is rejected, and unknown is at most what may not be repeated',
    async (_, fault, inFlight) => {
      const { on, hold, lost } = await start();
      on.emulator.addFault({ on: 'send', ...fault });
      await on.sendEach(numbers(NOTICES));
      await until(async () => (await hold()) === 'failing', { what: 'the hold' });
      await pause(OUTAGE_MS);
      const possiblySent = () =>
        on.attempts().filter(({ outcome }) => outcome === 'unknown').length;
      const spent = () => (isOnce ? possiblySent() : 0);
      const { failed, unknown } = await lost();
      // A probe may end between the two looks.
      expect(failed).toBeLessThanOrEqual(unknown);
      expect(isOnce ? 0 : unknown).toBe(0);
      on.emulator.clearFaults();
      const left = () => (fault.afterActing === true ? 0 : spent());
      await until(() => on.emulator.record().distinct === NOTICES + 4 - left(), {
        what: 'everything else sent',
        deadlineMs: 15_000,
      });
      expect(await until(async () => (await hold()) === undefined, { what: 'lifted' })).toBe(true);
      // What was in flight, and one probe per distance.
      expect(possiblySent()).toBeLessThanOrEqual(inFlight + (inFlight && OUTAGE_MS / 400));
      expect(await lost()).toEqual({ failed: spent(), unknown: spent() });
      expect(on.emulator.record().twice).toBeLessThanOrEqual(isOnce ? 0 : possiblySent());
    },
    60_000,
  );

  const sends = isOnce ? 1 : 3;
  it(`a notice that the service always fails on is sent ${sends} times, then it is unknown`, async () => {
    const { on, lost } = await start();
    const [contact = ''] = numbers(1, 500);
    on.emulator.addFault({ on: 'send', containing: contact, status: 500, afterActing: true });
    await on.sendEach([contact]);
    await until(async () => (await lost()).unknown === 1, { what: 'unknown', deadlineMs: 20_000 });
    const taken = [...on.emulator.contacts()].find((one) => one.contact === contact);
    expect(taken?.count).toBe(sends);
    const attempts = on.attempts().filter(({ outcome }) => outcome === 'unknown');
    expect(attempts).toHaveLength(sends);
  }, 40_000);
});
