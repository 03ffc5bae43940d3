import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../../src/emulator/fault.ts';
import { until } from '../support/wait.ts';
import { LOCK_MS, PROBE_MAX_MS, STALLED_MS, type Stage } from './stage.ts';

/** Something that breaks, and how soon the fleet must send again once it is mended. */
export interface Scenario {
  readonly name: string;
  readonly disturb: (stage: Stage) => Promise<void>;
  readonly recoveryMs: number;
}

/** Bounds on recovery; a second on top for the machine. */
const AFTER_KILL = LOCK_MS + 2 * STALLED_MS + 1_000;
const AFTER_HOLD = PROBE_MAX_MS + 1_000;
const AFTER_REDIS = 5_000;

/** A fault of the service for so long. */
const service =
  (fault: Omit<Fault, 'on'>, ms: number, on: Fault['on'] = 'send') =>
  async ({ fleet }: Stage) => {
    fleet.emulator.addFault({ on, ...fault });
    await pause(ms);
    fleet.emulator.clearFaults();
  };

const storm = (name: string, fault: Omit<Fault, 'on'>, recoveryMs = AFTER_HOLD): Scenario => ({
  name,
  disturb: service(fault, 1_500),
  recoveryMs,
});

const workers: readonly Scenario[] = [
  {
    name: 'all workers SIGKILLed, others started',
    disturb: async ({ fleet }) => {
      for (const worker of fleet.workers) worker.kill('SIGKILL');
      await Promise.all([fleet.addWorker(), fleet.addWorker()]);
    },
    recoveryMs: AFTER_KILL,
  },
  {
    name: 'a worker stopped past its lock, then continued',
    disturb: async ({ fleet }) => {
      const [zombie] = fleet.workers;
      zombie?.kill('SIGSTOP');
      await pause(LOCK_MS + 3 * STALLED_MS);
      zombie?.kill('SIGCONT');
    },
    recoveryMs: AFTER_KILL,
  },
  {
    name: 'all workers restarted one by one, twice',
    disturb: async ({ fleet }) => {
      for (let round = 0; round < 2; round++) {
        for (const worker of fleet.workers.slice(-3)) {
          await fleet.addWorker();
          worker.kill('SIGTERM');
          await worker.ended;
        }
      }
    },
    recoveryMs: AFTER_HOLD,
  },
];

const redis: readonly Scenario[] = [
  {
    name: 'Redis killed and started again (AOF)',
    disturb: async ({ server }) => {
      await server.kill('SIGKILL');
      await server.restart();
    },
    recoveryMs: AFTER_REDIS,
  },
  {
    name: 'Redis frozen for 3 s',
    disturb: async ({ server }) => {
      await server.kill('SIGSTOP');
      await pause(3_000);
      await server.kill('SIGCONT');
    },
    recoveryMs: AFTER_REDIS,
  },
  {
    name: 'Redis out of memory for 2 s',
    disturb: async ({ redis }) => {
      await redis.config('SET', 'maxmemory', '1');
      await pause(2_000);
      await redis.config('SET', 'maxmemory', '0');
    },
    recoveryMs: AFTER_REDIS,
  },
  {
    name: 'every connection to Redis cut, ten times',
    disturb: async ({ redis }) => {
      for (let cut = 0; cut < 10; cut++) {
        await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes').catch(() => {});
        await pause(100);
      }
    },
    recoveryMs: AFTER_REDIS,
  },
];

const answers: readonly Scenario[] = [
  storm('the service answers 500 to one in ten', { status: 500, rate: 0.1, seed: 1 }),
  storm('the service answers 503 to all', { status: 503 }),
  storm('429 with Retry-After in seconds', { status: 429, retryAfter: 1 }, AFTER_HOLD + 1_000),
  storm(
    '429 with Retry-After as a date',
    { status: 429, retryAfter: 1, retryAfterAs: 'date' },
    AFTER_HOLD + 1_000,
  ),
  storm('402: no credit', { status: 402 }),
  storm('an HTML page in place of the API', {
    status: 200,
    bodyText: '<html>Welcome</html>',
    headers: { 'content-type': 'text/html' },
  }),
  storm('garbage in place of HTTP', { garbage: 'this is not HTTP\r\n\r\n' }),
  storm('redirects', { status: 302, headers: { location: 'http://127.0.0.1:9/' } }),
  storm('bodies of 100 MB', { hugeBody: 100_000_000, rate: 0.05, seed: 2 }),
  storm('connections reset before the request is read', { reset: 'before-read' }),
  storm('connections reset after the request is read', { reset: 'after-read' }),
  storm('connections reset after the service acted', { reset: 'after-acting', rate: 0.2, seed: 3 }),
  storm('no answer, ever', { hang: 'before-acting', rate: 0.5, seed: 4 }, 4_000),
  storm('answers cut off', { truncate: 3, rate: 0.3, seed: 5 }),
  storm('answers that drip', { slowBody: { bytes: 5, everyMs: 30 }, rate: 0.2, seed: 6 }),
];

const tokens: readonly Scenario[] = [
  {
    name: 'somebody else issues for the app, five times',
    disturb: async ({ fleet }) => {
      for (let war = 0; war < 5; war++) {
        const before = fleet.emulator.record().contacts;
        fleet.emulator.issueForeign();
        await until(() => fleet.emulator.record().contacts > before, {
          what: 'a send after a foreign issuance',
          deadlineMs: 20_000,
          everyMs: 5,
        });
      }
    },
    recoveryMs: AFTER_HOLD,
  },
  {
    name: 'the token endpoint answers 503',
    disturb: async (stage) => {
      stage.fleet.emulator.revokeTokens();
      await service({ status: 503 }, 1_500, 'token')(stage);
    },
    recoveryMs: AFTER_HOLD,
  },
  {
    name: 'the key pair is refused, then mended',
    disturb: async ({ fleet }) => {
      const accessKey = 'emulator-access-key';
      fleet.emulator.setApp({ accessKey, secretKey: 'another' });
      await pause(1_500);
      fleet.emulator.setApp({ accessKey, secretKey: 'emulator-secret-key' });
    },
    recoveryMs: AFTER_HOLD,
  },
];

/** Everything that is broken on purpose. */
export const SCENARIOS: readonly Scenario[] = [...workers, ...redis, ...answers, ...tokens];
