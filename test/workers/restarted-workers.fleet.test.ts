import { describe, expect, it } from 'vitest';
import type { HoldKind } from '../../src/contracts/hold.ts';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { QUIET_MS, ROW } from '../../src/fleet/hold/evidence-scripts.ts';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { holdingFleet } from './support/holding-fleet.ts';

const redis = testRedis();

/** Workers that were started after notices were refused, and so know of it from no other process. */
describe('workers that were restarted after notices at fault', () => {
  const { start, hold, failedJobs } = holdingFleet();

  it.each<[HoldKind, Omit<Fault, 'on'>]>([
    ['credentials', { status: 403, code: 'SENDER_NOT_YOURS' }],
    ['failing', { status: 500 }],
  ])(
    'report what is accepted: one more notice at fault makes no hold %s',
    async (_, fault) => {
      const on = await start(1, { ATTEMPTS: '1', UNKNOWN_RESENDS: '0' });
      const { emulator } = on;
      const own = numbers(ROW, 50_000);
      for (const contact of own) emulator.addFault({ on: 'send', containing: contact, ...fault });
      const good = numbers(40);
      const accepted = (count: number) =>
        until(() => emulator.record().distinct === count, { what: `${count} accepted` });
      await on.sendEach(good.slice(0, 10));
      await accepted(10);

      await on.sendEach(own.slice(1));
      await until(async () => (await failedJobs()) === ROW - 1, { what: 'those at fault' });
      on.workers[0]?.kill('SIGTERM');
      await on.workers[0]?.ended;
      const { evidence } = keysOf(on.env['REDIS_PREFIX'] ?? '', 'default');
      const askedAt = Number(await redis.client.hget(evidence, 'askedAt'));
      expect(askedAt).toBeGreaterThan(0);
      await until(() => Date.now() - askedAt > QUIET_MS + 100, { what: 'a second' });
      await Promise.all([on.addWorker(), on.addWorker()]);

      await on.sendEach(good.slice(10, 20));
      await accepted(20);
      await on.sendEach(good.slice(20));
      await accepted(40);
      await on.sendEach(own.slice(0, 1));
      await until(async () => (await failedJobs()) === ROW || (await hold(on)) !== undefined, {
        what: 'the last one',
      });
      expect(await hold(on)).toBeUndefined();
      expect(await failedJobs()).toBe(ROW);
      const events = on.workers.flatMap(({ lines }) => lines.map(({ event }) => event));
      expect(events).not.toContain('hold');
      expect(await redis.client.hget(evidence, 'askedAt')).not.toBe(String(askedAt));
    },
    90_000,
  );
});
