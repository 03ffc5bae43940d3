import { describe, expect, it } from 'vitest';
import type { EmulatorOptions } from '../../src/emulator/options.ts';
import { run } from '../cli/support/run.ts';
import { fleetOn, numbers, type Fleet, type FleetWorker } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { amongOthers } from './support/holding-fleet.ts';

const FROM_ADDRESS = new URL('../support/from-address.mjs', import.meta.url).pathname;

describe('a worker that the service refuses', () => {
  const redis = testRedis();

  /** A fleet that sends 60 requests a second, and whose refused workers try again every second. */
  function open(processes: number, emulator?: EmulatorOptions): Promise<Fleet> {
    return fleetOn(redis, {
      processes,
      env: {
        CONCURRENCY: '4',
        RATE_LIMIT: '60',
        HEARTBEAT_MS: '1000',
        BACKOFF_BASE_MS: '200',
        BACKOFF_CAP_MS: '300',
        ATTEMPTS: '100',
        HOLD_PROBE_MIN_MS: '500',
        HOLD_PROBE_MAX_MS: '1000',
      },
      ...(emulator === undefined ? {} : { emulator }),
    });
  }

  const eventsOf = ({ lines }: FleetWorker, event: string) =>
    lines.filter((line) => line.event === event);

  it.each<[string, Record<string, string>, string]>([
    [
      'for its address',
      { NODE_OPTIONS: `--import=${FROM_ADDRESS}`, FROM_ADDRESS: '127.0.0.2' },
      'IP_NOT_ALLOWED',
    ],
    ['for its secret', { SECRET_KEY: 'a-secret-of-another-app' }, 'INVALID_ACCESS_KEY'],
  ])(
    '%s holds nothing: the others send, and it is not ready',
    async (_name, env, code) => {
      const on = await open(2, { allowlist: ['127.0.0.1'], tokenMode: 'single' });
      const { emulator } = on;
      await on.sendEach(numbers(20));
      await until(() => emulator.record().distinct === 20, { what: 'the first sends' });
      const refused = await on.addWorker(env);
      await on.sendEach(numbers(400, 1_000));
      await until(() => eventsOf(refused, 'worker-alone').length > 0, {
        what: 'the worker to be refused',
        deadlineMs: 20_000,
      });
      await until(() => emulator.record().distinct === 420, {
        what: 'everything to be accepted',
        deadlineMs: 30_000,
      });

      expect(eventsOf(refused, 'worker-alone')[0]).toMatchObject({ hold: 'credentials', code });
      for (const worker of on.workers) expect(eventsOf(worker, 'hold')).toEqual([]);
      const { twice, tokens } = emulator.record();
      expect({ twice, issued: tokens.issued }).toEqual({ twice: 0, issued: 1 });
      // None of its attempts was counted.
      expect(on.attempts().every(({ attempt }) => attempt === 1)).toBe(true);
      const saysWhy = async () =>
        (await run(['status', '--json'], { ...on.env })).stdout.includes('"alone"');
      await amongOthers(on, () =>
        until(saysWhy, { what: 'the status to say why it is not ready', deadlineMs: 20_000 }),
      );
    },
    90_000,
  );

  const heldFor = (worker: FleetWorker) =>
    eventsOf(worker, 'hold').filter(({ kind }) => kind === 'held').length;

  it('holds nothing after all were refused once: the queue resumes, and it alone takes no jobs', async () => {
    const on = await open(2, { allowlist: ['203.0.113.7'] });
    const { emulator } = on;
    const elsewhere = { NODE_OPTIONS: `--import=${FROM_ADDRESS}`, FROM_ADDRESS: '127.0.0.2' };
    const refused = await on.addWorker(elsewhere);
    await on.sendEach(numbers(300));
    await until(() => on.workers.some((worker) => heldFor(worker) > 0), { what: 'a hold' });
    emulator.setApp({ accessKey: 'emulator-access-key', allowlist: ['127.0.0.1'] });
    await until(() => emulator.record().distinct === 300, { what: 'all sent', deadlineMs: 60_000 });
    const before = on.workers.map(heldFor);
    const refusals = eventsOf(refused, 'worker-alone').length;
    await on.sendEach(numbers(400, 1_000));
    await until(() => emulator.record().distinct === 700, { what: 'the rest', deadlineMs: 60_000 });
    expect(eventsOf(refused, 'worker-alone').length).toBeGreaterThan(refusals);
    expect(on.workers.map(heldFor)).toEqual(before);
    expect(on.attempts().every(({ attempt }) => attempt === 1)).toBe(true);
  }, 180_000);
});
