import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { queueChunks } from '../../../src/batch/import/queue-chunks.ts';
import { CHUNK_QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { readBatchSnapshot } from '../../../src/ops/batch-snapshot.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { importWorld, listFile, numberOf } from '../support/import-world.ts';

const redis = testRedis();
const IMPORTER = fileURLToPath(new URL('../support/importer.mjs', import.meta.url));
const ROWS = 60_000;
const KILLS = 12;

/** The list: every thousandth row is invalid, and every 700th is repeated. */
function list(): string {
  const rows: string[] = ['contact,var1\n'];
  for (let index = 0; index < ROWS; index++) {
    rows.push(`${index % 1_000 === 5 ? '+82' : ''}${numberOf(index)},홍${index}\n`);
    if (index % 700 === 3) rows.push(`${numberOf(index)},again\n`);
  }
  return rows.join('');
}

const WRONG = Array.from({ length: ROWS }, (_, index) => index % 1_000 === 5).filter(
  Boolean,
).length;

/** Runs the importer; kills it after so many messages of progress. @returns whether it was killed */
async function run(prefix: string, file: string, killAfter: number | undefined): Promise<boolean> {
  const child = spawn(process.execPath, [IMPORTER, redis.url, prefix, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let messages = 0;
  child.stdout.on('data', (text: Buffer) => {
    messages += text.toString().split('\n').length - 1;
    if (killAfter !== undefined && messages > killAfter) child.kill('SIGKILL');
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`the importer ended with ${code}`);
  return signal === 'SIGKILL';
}

it('an importer that is killed again and again loses nothing and queues nothing twice', async () => {
  const world = importWorld(redis);
  const file = listFile(list());
  let killed = 0;
  const totals: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    if (await run(world.prefix, file, Math.floor(Math.random() * 12))) killed++;
    const [batch] = await world.ledger.list(1);
    totals.push(batch?.counts.total ?? 0);
  }
  expect(killed).toBeGreaterThan(0);
  expect(await run(world.prefix, file, undefined)).toBe(false);
  // It only ever went on.
  expect(totals).toStrictEqual(totals.toSorted((left, right) => left - right));

  const [batch, ...others] = await world.ledger.list(10);
  expect(others).toStrictEqual([]);
  const contacts = (await world.contacts(batch?.id ?? '')).map(({ contact }) => contact);
  const expected = Array.from({ length: ROWS }, (_, index) => index)
    .filter((index) => index % 1_000 !== 5)
    .map(numberOf);
  expect(contacts).toStrictEqual(expected);
  expect(batch).toMatchObject({
    phase: 'sending',
    refusedRows: WRONG,
    duplicateRows: Math.ceil((ROWS - 3) / 700),
    counts: { total: expected.length, pending: expected.length },
  });
  expect(await world.ledger.unsent()).toBe(expected.length);
  const jobs = await world.jobIds();
  expect(new Set(jobs).size).toBe(jobs.length);
  expect(jobs).toHaveLength(batch?.chunks ?? 0);
}, 120_000);

it('an importer that is killed is reported as stopped within seconds', async () => {
  const world = importWorld(redis);
  const file = listFile(list());
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
      expect(await readBatchSnapshot(open, id)).toMatchObject({ importStopped: false });
      return performance.now() - since > leaseMs + 1_000;
    },
    { what: 'the import to outlive its lease', deadlineMs: 20_000 },
  );
  child.kill('SIGKILL');
  await once(child, 'exit');
  await until(async () => (await readBatchSnapshot(open, id))?.importStopped, {
    what: 'the import to be reported as stopped',
    deadlineMs: leaseMs + 1_000,
  });
}, 60_000);

it('chunks that lost their importer get jobs, once, and those that are settled get none', async () => {
  const world = importWorld(redis);
  const { ledger } = world;
  const plan = {
    frame: '{}',
    templateCode: 'T',
    chunkSize: 1,
    delivery: 'at-least-once',
    expiresAt: 0,
    rate: 0,
    bisect: true,
  } as const;
  await ledger.start('b', plan, 'f', 60_000);
  const chunks = 1_203;
  for (let chunk = 0; chunk < chunks; chunk++) {
    await ledger.store('b', { chunk, size: 1, rows: chunk + 1, payload: Buffer.of(1) });
  }
  const lock = { key: `{${world.prefix}:default}:lock`, token: 'token' };
  await redis.client.set(lock.key, lock.token);
  expect(await ledger.claim('b', 7, 'nonce', lock)).toMatchObject({ kind: 'send' });
  await ledger.settle('b', 7, 'nonce', { accepted: 1, failed: [] });

  const queue = openBullQueue(CHUNK_QUEUE_NAME, redis.connect({ forWorker: true }), world.keys);
  await queueChunks(ledger, queue, 'b');
  await queueChunks(ledger, queue, 'b');
  const jobs = await world.jobIds();
  await queue.close();
  expect(jobs).toHaveLength(chunks - 1);
  expect(jobs).not.toContain('c-b-7');
  expect(await ledger.read('b')).toMatchObject({ queued: chunks });
});
