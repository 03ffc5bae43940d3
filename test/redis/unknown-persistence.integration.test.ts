import { expect, it, onTestFinished, vi } from 'vitest';
import { startRedisServer } from '../../scripts/redis/redis-server.ts';
import { emulatorWith } from '../emulator/running.ts';
import { runProcess } from '../cli/support/process.ts';
import { run } from '../cli/support/run.ts';
import { credentialsOf } from '../support/redis-users.ts';
import { replaceUsers } from './support/acl-redis.ts';

// Processes are started.
vi.setConfig({ testTimeout: 60_000 });

/** A Redis without an append-only file, whose documented users have no CONFIG. */
async function withUsers() {
  const server = await startRedisServer();
  onTestFinished(() => server.close());
  const admin = await replaceUsers(server.url);
  onTestFinished(() => admin.disconnect());
  const emulator = await emulatorWith();
  const service = {
    BASE_URL: emulator.url,
    ACCESS_KEY: 'emulator-access-key',
    SECRET_KEY: 'emulator-secret-key',
  };
  const envOf = (user: 'worker' | 'ops') => ({
    REDIS_URL: server.url,
    ...credentialsOf(user),
    ...service,
    REDIS_PERSISTENCE: 'require',
  });
  return { admin, envOf };
}

it('a worker that requires persistence refuses a Redis that does not show any, with what to set', async () => {
  const { envOf } = await withUsers();
  const ended = await runProcess(['worker'], envOf('worker'));
  expect(ended.code).toBe(3);
  expect(ended.stderr).toMatch(/REDIS_UNSUITABLE.*does not show whether.*set appendonly to yes/s);
  const doctor = await run(['doctor', '--json'], envOf('ops'));
  const { findings } = JSON.parse(doctor.stdout) as { findings: object[] };
  expect(findings).toContainEqual(
    expect.objectContaining({ check: 'redis.persistence', level: 'fail' }),
  );
  const status = await run(['status', '--json'], envOf('ops'));
  expect(JSON.parse(status.stdout)).toMatchObject({
    redis: {
      persistence: 'unknown',
      findings: [expect.objectContaining({ code: 'persistence-unknown', severity: 'refuse' })],
    },
  });
});
