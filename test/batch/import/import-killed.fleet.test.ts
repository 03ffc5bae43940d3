import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { readBatch } from '../../../src/ops/answers/batch.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { csvList, numberOf } from '../support/csv-list.ts';
import { importWorld, listFile } from '../support/import-world.ts';

const redis = testRedis();
const IMPORTER = fileURLToPath(new URL('../support/importer.mjs', import.meta.url));

/** @param limits how many unsent contacts there may be, and after how many commands it kills itself */
function startImporter(prefix: string, file: string, ...limits: number[]) {
  const args = [IMPORTER, redis.url, prefix, file, ...limits.map(String)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

it('an importer that is killed between any two commands is continued: nothing is lost, nothing is queued twice', async () => {
  const rows = 250;
  const file = listFile(`${csvList(rows)}+82,x\n${numberOf(0)},again\n`);
  const expected = Array.from({ length: rows }, (_, index) => numberOf(index));
  let commands = 1;
  for (let isKilled = true; isKilled; commands++) {
    const world = importWorld(redis);
    const [code, signal] = (await once(
      startImporter(world.prefix, file, 1e6, commands),
      'exit',
    )) as [number | null, string | null];
    isKilled = signal === 'SIGKILL';
    expect(isKilled ? null : 0).toBe(code);
    // It was killed after its end where the list is known as a whole.
    const ended = world.import(file).then(
      () => 'imported',
      (error: { code: string }) => error.code,
    );
    expect(['imported', 'LIST_REPEATED']).toContain(await ended);
    const [batch, ...others] = await world.ledger.list(10);
    const contacts = await world.contacts(batch?.id ?? '');
    expect({
      commands,
      others,
      batch,
      numbers: contacts.map(({ contact }) => contact),
      unsent: await world.ledger.unsent(),
      jobs: (await world.jobIds()).length,
    }).toMatchObject({
      commands,
      others: [],
      batch: { phase: 'sending', chunks: 3, queued: 3, refusedRows: 1, duplicateRows: 1 },
      numbers: expected,
      unsent: rows,
      jobs: 3,
    });
  }
  // Fewer would mean that most commands were not seen.
  expect(commands).toBeGreaterThan(10);
}, 180_000);

it('an importer that is killed is reported as stopped within seconds', async () => {
  const world = importWorld(redis);
  const child = startImporter(world.prefix, listFile(csvList(60_000)), 100);
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
