import { describe, expect, it } from 'vitest';
import type { HoldKind } from '../../src/contracts/hold.ts';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { liftManualHold } from '../../src/fleet/hold/hold-scripts.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { numbers, type Fleet } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { amongOthers, holdingFleet } from './support/holding-fleet.ts';

const NOTICES = 2_000;
const APP = { accessKey: 'emulator-access-key', secretKey: 'emulator-secret-key' };

describe('a fleet holds', () => {
  const { redis, start, hold, templateHolds, failedJobs, jobsLeft } = holdingFleet();

  const mostAttempts = async () =>
    Math.max(...(await jobsLeft()).map(({ attemptsMade }) => attemptsMade));

  it.each<[HoldKind, Omit<Fault, 'on'>]>([
    ['credit', { status: 402 }],
    ['throttled', { status: 429, retryAfter: 1 }],
    ['address', { status: 302, headers: { location: 'https://example.invalid/' } }],
    ['address', { status: 405, code: 'METHOD_NOT_ALLOWED' }],
    ['credentials', { status: 403, code: 'IP_NOT_ALLOWED' }],
  ])(
    '%s, by %o: held, no attempt spent while it is held, resumed by a probe',
    async (kind, fault) => {
      const on = await start(2);
      const { emulator } = on;
      emulator.addFault({ on: 'send', ...fault });
      await on.sendEach(numbers(200));
      await until(async () => (await hold(on))?.kind === kind, { what: `a ${kind} hold` });
      const held = await hold(on);
      expect(held?.nextProbeAt).toBeGreaterThan(held?.since ?? Infinity);

      // While it is held only probes reach the service: one at a time, further and further apart.
      await until(async () => ((await hold(on))?.failedProbes ?? 0) >= 1, {
        what: 'a failed probe',
        deadlineMs: 20_000,
      });
      expect(await mostAttempts()).toBe(0);
      expect(await templateHolds(on)).toEqual([]);

      emulator.clearFaults();
      await until(() => emulator.record().distinct === 200, {
        what: 'everything sent',
        deadlineMs: 30_000,
      });
      expect(emulator.record().twice).toBe(0);
      expect(await until(async () => (await hold(on)) === undefined, { what: 'lifted' })).toBe(
        true,
      );
    },
    90_000,
  );

  it.each<[HoldKind, string, Omit<Fault, 'on'>]>([
    ['template', 'TEMPLATE_NOT_APPROVED', { status: 404, code: 'TEMPLATE_NOT_APPROVED' }],
    ['credentials', 'SENDER_NOT_YOURS', { status: 403, code: 'SENDER_NOT_YOURS' }],
    [
      'address',
      'HTML_ANSWER',
      { status: 200, bodyText: '<html>', headers: { 'content-type': 'text/html' } },
    ],
  ])(
    'only the template that is answered alike, as %s with %s; another one is sent meanwhile',
    async (kind, code, fault) => {
      const on = await start(2);
      const { emulator } = on;
      emulator.addFault({ on: 'send', containing: 'FLEET', ...fault });
      await on.sendEach(numbers(200));
      await until(async () => (await templateHolds(on)).length > 0, { what: 'the hold' });
      expect(await templateHolds(on)).toMatchObject([{ template: 'FLEET', kind, code }]);
      await until(async () => ((await templateHolds(on))[0]?.rounds ?? 0) >= 2, {
        what: 'two rounds of probes',
        deadlineMs: 20_000,
      });

      const others = numbers(50, 50_000).map((contact) => ({ contact }));
      const sentAt = performance.now();
      await on.queue.sendMany(
        others.map((contact) => ({ templateCode: 'OTHER', contacts: [contact] })),
      );
      await until(() => emulator.record().distinct === 50, { what: 'the other template' });
      expect(performance.now() - sentAt).toBeLessThan(5_000);
      expect(await hold(on)).toBeUndefined();
      expect(await templateHolds(on)).toMatchObject([{ template: 'FLEET' }]);

      emulator.clearFaults();
      await until(() => emulator.record().distinct === 250, {
        what: 'everything sent',
        deadlineMs: 30_000,
      });
      expect(emulator.record().twice).toBe(0);
      await until(async () => (await templateHolds(on)).length === 0, { what: 'lifted' });
    },
    90_000,
  );

  it.each<[string, Omit<Fault, 'on'>, Record<string, string>]>([
    ['429', { status: 429 }, { CONCURRENCY: '1' }],
    ['429 with Retry-After: 1', { status: 429, retryAfter: 1 }, {}],
    ['503 with Retry-After: 1', { status: 503, retryAfter: 1 }, { CONCURRENCY: '1' }],
    ['503 with Retry-After: 0', { status: 503, retryAfter: 0 }, {}],
  ])(
    'one notice that alone is answered %s: the others are sent within seconds, and it ends by its attempts',
    async (_, fault, env) => {
      const on = await start(1, { ATTEMPTS: '3', BACKOFF_BASE_MS: '100', ...env });
      const { emulator } = on;
      const [own = '', ...good] = numbers(60);
      emulator.addFault({ on: 'send', containing: own, ...fault });
      const startedAt = performance.now();
      await on.sendEach([own, ...good]);
      await until(() => emulator.record().distinct === good.length, {
        what: 'the good ones',
        deadlineMs: 15_000,
      });
      expect(performance.now() - startedAt).toBeLessThan(10_000);
      const isOver = async () => (await failedJobs()) === 1;
      await amongOthers(on, () => until(isOver, { what: 'its end', deadlineMs: 60_000 }));
      const last = on.attempts().filter(({ attempt }) => Number(attempt) >= 3);
      expect(last).toMatchObject([{ attempt: 3, code: `HTTP_${fault.status}` }]);
      expect(emulator.record().twice).toBe(0);
    },
    120_000,
  );

  it.each([
    ['5 % of 500', { rate: 0.05, status: 500 }],
    ['2 % of 503 with Retry-After: 1', { rate: 0.02, status: 503, retryAfter: 1 }],
  ])(
    'a service that fails a little, %s at random: nothing is held, and all are accepted',
    async (_, fault) => {
      const on = await start(2, { BACKOFF_BASE_MS: '200', BACKOFF_CAP_MS: '1000' });
      const { emulator } = on;
      emulator.addFault({ on: 'send', seed: 7, ...fault });
      await on.sendEach(numbers(NOTICES));
      await until(() => emulator.record().distinct === NOTICES, {
        what: 'all accepted',
        deadlineMs: 90_000,
      });
      expect(emulator.faults()[0]?.fired).toBeGreaterThan((NOTICES * fault.rate) / 2);
      const events = on.workers.flatMap(({ lines }) => lines.map(({ event }) => event));
      for (const event of ['hold', 'template-held', 'worker-alone']) {
        expect(events).not.toContain(event);
      }
      expect(await hold(on)).toBeUndefined();
      expect(await templateHolds(on)).toEqual([]);
      expect(await failedJobs()).toBe(0);
      expect(emulator.record().twice).toBe(0);
    },
    120_000,
  );

  /** A fleet that has been refused so often that the next try is far away. */
  async function refused(env: Readonly<Record<string, string>>): Promise<Fleet> {
    const on = await start(2, {
      HOLD_PROBE_MIN_MS: '2000',
      HOLD_PROBE_MAX_MS: '600000',
      ...env,
    });
    await on.sendEach(numbers(20));
    await until(async () => ((await hold(on))?.failedProbes ?? 0) >= 3, {
      what: 'three failed probes',
      deadlineMs: 40_000,
    });
    return on;
  }

  async function sentWithin(on: Fleet, ms: number): Promise<void> {
    await until(() => on.emulator.record().distinct === 20, {
      what: `everything sent within ${ms} ms`,
      deadlineMs: ms,
    });
    expect(on.emulator.record()).toMatchObject({ twice: 0 });
  }

  it('corrected keys, lifted by a person: a token is asked for at once', async () => {
    const on = await refused({ SECRET_KEY: 'another' });
    on.emulator.setApp({ ...APP, secretKey: 'another' });
    expect(
      await liftManualHold(redis.client, keysOf(on.env['REDIS_PREFIX'] ?? '', 'default')),
    ).toBe('credentials');
    await sentWithin(on, 3_000);
  }, 90_000);

  it('a worker with another key pair tries it at once', async () => {
    const on = await refused({ SECRET_KEY: 'wrong' });
    for (const worker of on.workers) worker.kill('SIGTERM');
    await Promise.all(on.workers.map(({ ended }) => ended));
    expect((await hold(on))?.kind).toBe('credentials');
    const before = on.emulator.issuances().length;
    await on.addWorker({ SECRET_KEY: 'wrong' });
    // The same key pair waits as before.
    expect(on.emulator.issuances()).toHaveLength(before);
    await on.addWorker({ SECRET_KEY: APP.secretKey });
    await sentWithin(on, 5_000);
  }, 90_000);
});
