import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { readBatch } from '../../../src/ops/answers/batch.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { csvList } from '../support/csv-list.ts';
import { importWorld, listFile } from '../support/import-world.ts';

const redis = testRedis();
const IMPORTER = fileURLToPath(new URL('../support/importer.mjs', import.meta.url));
it('an importer that is killed is reported as stopped within seconds', async () => {
  const world = importWorld(redis);
  const file = listFile(csvList(60_000));
  const child = spawn(process.execPath, [IMPORTER, redis.url, world.prefix, file, '100'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const open = { ledger: world.ledger, redis: redis.client, keys: world.keys };
  const id = await until(async () => (await world.ledger.list(1))[0]?.id, { what: 'a batch' });
  await until(async () => (await world.ledger.isImporting(id)) || undefined, { what: 'its lease' });
  // It waits for workers, which there are not, for longer than its lease lasts.
  const leaseMs = 5_000;
  const since = performance.now();
  await until(
    async () => {
      expect(await readBatch(open, id)).toMatchObject({ continueImport: null });
      return performance.now() - since > leaseMs + 1_000;
    },
    { what: 'the import to outlive its lease', deadlineMs: 20_000 },
  );
  child.kill('SIGKILL');
  await once(child, 'exit');
  await until(async () => (await readBatch(open, id)).continueImport !== null, {
    what: 'the import to be reported as stopped',
    deadlineMs: leaseMs + 1_000,
  });
}, 60_000);
