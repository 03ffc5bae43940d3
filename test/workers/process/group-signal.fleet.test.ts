import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { CLI, numbers, startFleet, type Fleet } from '../../support/fleet.ts';
import { asUser } from '../../support/redis-users.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

const NOTICES = 40;

/**
 * Ctrl-C in a terminal, systemd's default KillMode and `tini -g` signal the whole process group: the
 * supervisor and each of its processes get the signal at the same time.
 */
describe('a stop signal to the process group of a supervised worker', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;
  let group: ChildProcess | undefined;

  afterEach(async () => {
    if (group?.pid !== undefined && group.exitCode === null && group.signalCode === null) {
      const ended = once(group, 'exit');
      process.kill(-group.pid, 'SIGKILL');
      await ended;
    }
    await fleet?.close();
    group = undefined;
    fleet = undefined;
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    '%s: what is being sent is finished and recorded, and nothing is sent twice',
    async (signal) => {
      fleet = await startFleet({
        redisUrl: redis.url,
        prefix: redis.freshPrefix(),
        processes: 0,
        env: {
          CONCURRENCY: '10',
          LOCK_DURATION_MS: '6000',
          HEARTBEAT_MS: '1000',
          SEND_DEADLINE_MS: '2500',
          ANSWER_TIMEOUT_MS: '1500',
          CONNECT_TIMEOUT_MS: '500',
          ISSUE_DEADLINE_MS: '1500',
          TOKEN_LOCK_TTL_MS: '3000',
        },
        emulator: { latencyMs: 800 },
      });
      const on = fleet;
      const started = spawn(process.execPath, [CLI, 'worker', '--processes', '2'], {
        env: asUser(['worker'], on.env),
        stdio: ['ignore', 'ignore', 'inherit'],
        detached: true,
      });
      group = started;
      const ended = once(started, 'exit');
      await on.sendEach(numbers(NOTICES));
      await until(() => on.emulator.record().contacts >= 10, {
        what: 'sends under way',
        deadlineMs: 30_000,
      });

      process.kill(-(started.pid ?? 0), signal);
      expect(await ended).toEqual([0, null]);

      await on.addWorker();
      await until(() => on.emulator.record().distinct === NOTICES, {
        what: 'the rest',
        deadlineMs: 40_000,
      });
      expect(on.emulator.record().twice).toBe(0);
    },
    90_000,
  );
});
