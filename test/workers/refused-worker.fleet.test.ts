import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { CLI, numbers, startFleet, type Fleet, type FleetWorker } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const FROM_ADDRESS = new URL('../support/from-address.mjs', import.meta.url).pathname;

/** What `notices status --json` shows, on one line. */
async function status({ env }: Fleet): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [CLI, 'status', '--json'], {
    env,
  });
  return JSON.stringify(JSON.parse(stdout));
}

describe('a worker that the service refuses', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;

  afterEach(async () => {
    await fleet?.close();
    fleet = undefined;
  });

  const eventsOf = ({ lines }: FleetWorker, event: string) =>
    lines.filter((line) => line.event === event);

  it.each<[string, Record<string, string>, string]>([
    [
      'for its address',
      { NODE_OPTIONS: `--import=${FROM_ADDRESS}`, FROM_ADDRESS: '127.0.0.2' },
      'IP_NOT_ALLOWED',
    ],
    ['for its secret', { SECRET_KEY: 'a-secret-of-another-app' }, 'INVALID_ACCESS_KEY'],
    ['for its key pair', { ACCESS_KEY: 'an-earlier-access-key' }, 'INVALID_ACCESS_KEY'],
  ])(
    '%s holds nothing: the others send, and it is not ready',
    async (_name, env, code) => {
      const on = await startFleet({
        redisUrl: redis.url,
        prefix: redis.freshPrefix(),
        processes: 2,
        env: { CONCURRENCY: '4', RATE_LIMIT: '60', HEARTBEAT_MS: '1000' },
        emulator: { allowlist: ['127.0.0.1'], tokenMode: 'single' },
      });
      fleet = on;
      const { emulator } = on;
      await on.sendEach(numbers(20));
      await until(() => emulator.record().distinct === 20, { what: 'the first sends' });
      const refused = await on.addWorker(env);
      await on.sendEach(numbers(400, 1_000));
      await until(() => eventsOf(refused, 'worker-refused').length > 0, {
        what: 'the worker to be refused',
        deadlineMs: 20_000,
      });
      await until(() => emulator.record().distinct === 420, {
        what: 'everything to be accepted',
        deadlineMs: 30_000,
      });

      expect(eventsOf(refused, 'worker-refused')[0]).toMatchObject({ code });
      for (const worker of on.workers) expect(eventsOf(worker, 'hold')).toEqual([]);
      const { twice, tokens } = emulator.record();
      expect({ twice, issued: tokens.issued }).toEqual({ twice: 0, issued: 1 });
      // None of its attempts was counted.
      expect(on.attempts().every(({ attempt }) => attempt === 1)).toBe(true);
      await until(async () => (await status(on)).includes('"reason":"credentials"'), {
        what: 'the status to say why it is not ready',
      });
    },
    90_000,
  );
});
