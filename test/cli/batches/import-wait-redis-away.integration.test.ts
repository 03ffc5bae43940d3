import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../../../scripts/redis/redis-server.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { allAccepted } from '../../../src/batch/ledger/settlement.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { buildBatch } from '../../batch/support/built-batch.ts';
import { until } from '../../support/wait.ts';
import { matching, start } from '../support/run.ts';

const PREFIX = 'wait';

/** An import of one contact with `--wait`, on a server of its own. */
async function world(args: readonly string[] = []) {
  const server = await startRedisServer({ args });
  onTestFinished(() => server.close());
  const admin = new Redis(server.url, { maxRetriesPerRequest: 1 });
  onTestFinished(() => admin.disconnect());
  const importing = start(
    ['import', '-', '--format', 'csv', '--template', 'T', '--batch', 'b', '--wait'],
    { REDIS_URL: server.url, REDIS_PREFIX: PREFIX },
  );
  const numberIn = async (section: string, name: string) =>
    Number(new RegExp(`\\n${name}(\\d+)`).exec(await admin.info(section))?.[1] ?? 0);
  return {
    admin,
    importing,
    numberIn,
    reach: (section: string, name: string, count: number) =>
      until(async () => (await numberIn(section, name)) >= count, {
        what: `${name} ${count}`,
        deadlineMs: 30_000,
      }),
    /** The contact is accepted; how the command ends. */
    finish: async () => {
      const ledger = new Ledger(admin, keysOf(PREFIX, 'default'));
      await until(async () => (await ledger.read('b'))?.phase === 'sending', { what: 'the batch' });
      const built = await buildBatch(admin, PREFIX, 'b', [], { importing: true });
      await built.settle(0, allAccepted());
      return importing.ended;
    },
  };
}

const LIST = 'contact\n01000000001\n';

describe('notices import --wait', () => {
  it('goes on after its server was a replica without its master', async () => {
    const { admin, importing, reach, finish } = await world(['--replica-serve-stale-data', 'no']);
    importing.stdin.end(LIST);
    await matching(() => importing.stderr(), /no worker is running/);
    await admin.replicaof('127.0.0.1', 1);
    await reach('errorstats', 'errorstat_MASTERDOWN:count=', 6);
    await admin.replicaof('NO', 'ONE');
    expect(await finish()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ {2}accepted +1$/m) as string,
    });
  }, 60_000);
});
