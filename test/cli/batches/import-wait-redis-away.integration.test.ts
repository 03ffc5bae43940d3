import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../../../scripts/redis/redis-server.ts';
import { allAccepted } from '../../../src/batch/ledger/settlement.ts';
import { buildBatch } from '../../batch/support/built-batch.ts';
import { until } from '../../support/wait.ts';
import { matching, start } from '../support/run.ts';

it('notices import --wait goes on after its server was a replica without its master', async () => {
  const server = await startRedisServer({ args: ['--replica-serve-stale-data', 'no'] });
  onTestFinished(() => server.close());
  const admin = new Redis(server.url, { maxRetriesPerRequest: 1 });
  onTestFinished(() => admin.disconnect());
  const env = { REDIS_URL: server.url, REDIS_PREFIX: 'wait' };
  const importing = start('import - --format csv --template T --batch b --wait', env);
  importing.stdin.end('contact\n01000000001\n');
  await matching(() => importing.stderr(), /no worker is running/);
  await admin.replicaof('127.0.0.1', 1);
  const refused = async () =>
    Number(/errorstat_MASTERDOWN:count=(\d+)/.exec(await admin.info('errorstats'))?.[1]) >= 6;
  await until(refused, { what: 'six refusals', deadlineMs: 30_000 });
  await admin.replicaof('NO', 'ONE');
  // The plan is there already, so this only claims and settles.
  const built = await buildBatch(admin, 'wait', 'b', [], { importing: true });
  await built.settle(0, allAccepted());
  const { code, stdout } = await importing.ended;
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^ {2}accepted +1$/m)]);
}, 60_000);
