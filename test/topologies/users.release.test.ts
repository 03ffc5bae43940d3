import { expect, it, onTestFinished } from 'vitest';
import { startEmulator } from '../../src/emulator/emulator.ts';
import { runProcess as run, startProcess } from '../cli/support/process.ts';
import { refusedBy, replaceUsers } from '../redis/support/acl-redis.ts';
import { credentialsOf, type User } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';
import { startCluster } from './servers.ts';

it('the documented Redis users suffice on a Cluster', async () => {
  const cluster = await startCluster();
  onTestFinished(() => cluster.close());
  const addresses = (cluster.env['REDIS_CLUSTER'] ?? '').split(',');
  const admins = await Promise.all(addresses.map((address) => replaceUsers(`redis://${address}`)));
  onTestFinished(() => admins.forEach((admin) => admin.disconnect()));
  // Without an append-only file programs ask for CONFIG, which no user has.
  for (const admin of admins) await admin.config('SET', 'appendonly', 'yes');
  const emulator = await startEmulator();
  onTestFinished(() => emulator.close());
  const envOf = (user: User) => ({
    ...cluster.env,
    ...credentialsOf(user),
    BASE_URL: emulator.url,
    ACCESS_KEY: 'emulator-access-key',
    SECRET_KEY: 'emulator-secret-key',
  });
  const worker = startProcess(['worker'], envOf('worker'));
  await worker.says(/"event":"started"/);
  const list = 'contact\n01000000002\n';
  const commands: readonly (readonly [User, readonly string[], string])[] = [
    ['producer', ['send', '--template', 'T', '--contact', '01000000001'], ''],
    ['importer', ['import', '-', '--format', 'csv', '--template', 'T', '--wait'], list],
    ['ops', ['status'], ''],
    ['ops', ['hold'], ''],
  ];
  for (const [user, args, input] of commands) {
    const { code, stderr } = await run(args, envOf(user), input);
    expect([args[0], code, code === 0 ? '' : stderr]).toEqual([args[0], 0, '']);
  }
  await until(() => emulator.record().distinct === 2, { what: 'all sent' });
  worker.stop('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  for (const admin of admins) expect(await refusedBy(admin)).toEqual([]);
}, 120_000);
