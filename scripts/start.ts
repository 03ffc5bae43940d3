import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { formatCount } from '../src/format/format.ts';
import { ProgressLines } from '../src/cli/progress.ts';
import { describeFailure, NoticeQueueError } from '../src/contracts/errors.ts';
import { NoticeQueue } from '../src/producer/notice-queue.ts';
import { expireTokenAfter, readRecord } from './demo/emulator-record.ts';
import { FaultSchedule } from './demo/faults.ts';
import { setUp, type Closers, type DemoMode, type Stage } from './demo/stage.ts';
import { LedgerView, summarise } from './demo/summary.ts';
import { makeContacts } from './make-contacts.ts';

/**
 * `npm start`: a demo on a machine that has only Node.js. Finds or installs Redis, starts the emulator
 * and two worker processes, imports the contacts of examples/contacts.csv as a batch, lets the token
 * expire meanwhile, and compares the imported contacts with the record of the emulator. Exits with code 1
 * if they differ.
 *
 * `--contacts N` imports a generated list of N contacts.
 * `--keep` is slow enough to watch, starts the ops server and prints its URL, and keeps everything running
 * until Ctrl-C.
 * `--faults` injects faults while sending; the list is sent at-most-once.
 */

const SAMPLE = { file: 'examples/contacts.csv', contacts: 10_000 };
const TEMPLATE = 'ORDER_READY';

/** Approximate number of send requests of the demo, for a list of any length. */
const SENDS = 1_000;

/** The demo fails when there is no progress for this long, in milliseconds. */
const STALL_TIMEOUT_MS = 60_000;

/** With `--keep`, a single notice is sent at this interval, in milliseconds. */
const TRICKLE_MS = 1_000;

const print = (text: string) => process.stdout.write(`${text}\n`);

/** The list to import: the sample, or a generated one. */
async function listOf(contacts: number, folder: string): Promise<string> {
  if (contacts === SAMPLE.contacts) return SAMPLE.file;
  const file = join(folder, 'contacts.csv');
  await makeContacts(contacts, file);
  return file;
}

async function importList(file: string, contacts: number, queue: NoticeQueue, mode: DemoMode) {
  const bar = new ProgressLines('importing', process.stdout);
  const report = await queue.import(file, {
    templateCode: TEMPLATE,
    // The demo may run again on the same Redis.
    again: true,
    chunkSize: Math.max(1, Math.ceil(contacts / SENDS)),
    ...(mode.faults ? { delivery: 'at-most-once' as const } : {}),
    onProgress: ({ rows }) => bar.show(rows / contacts, `${formatCount(rows)} rows`),
  });
  bar.show(1, `${formatCount(report.rows)} rows, ${formatCount(report.chunks)} send calls`);
  bar.end();
  return report;
}

/** Shows the progress of the batch and injects the faults until every contact is settled. */
async function follow(
  batch: string,
  startedAt: number,
  view: LedgerView,
  stage: Stage,
  mode: DemoMode,
) {
  const bar = new ProgressLines('sending', process.stdout);
  const play = mode.faults ? new FaultSchedule(stage.emulatorUrl, print) : undefined;
  let movedAt = performance.now();
  let seen = -1;
  for (;;) {
    const [counts, record] = await Promise.all([view.counts(batch), readRecord(stage.emulatorUrl)]);
    const now = performance.now();
    const { total, pending } = counts;
    if (pending !== seen) movedAt = now;
    seen = pending;
    const share = (total - pending) / total;
    const rate = formatCount(Math.round((total - pending) / ((now - startedAt) / 1_000 || 1)));
    const done = `${formatCount(total - pending)} of ${formatCount(total)}`;
    bar.show(share, `${done}, ${rate}/s, ${record.tokens.issued} tokens`);
    if (pending === 0 || now - movedAt > STALL_TIMEOUT_MS) {
      bar.end();
      return { counts, record };
    }
    await play?.moved(share, now);
    await setTimeout(100);
  }
}

async function main(contacts: number, mode: DemoMode): Promise<number> {
  const startedAt = performance.now();
  const closers: Closers = [];
  const folder = await mkdtemp(join(tmpdir(), 'notices-demo-'));
  try {
    const stage = await setUp(mode, folder, closers, print);
    if (stage.opsUrl !== undefined) print(`\nSign in at ${stage.opsUrl}\n`);
    await expireTokenAfter(stage.emulatorUrl, Math.floor(contacts / 2));
    const { REDIS_URL: url, REDIS_PREFIX: prefix } = stage.env;
    const queue = new NoticeQueue({ redis: { url }, prefix });
    closers.push(() => queue.close());
    const view = new LedgerView(stage.env);
    closers.push(() => Promise.resolve(view.close()));
    const sendingSince = performance.now();
    const { batch } = await importList(await listOf(contacts, folder), contacts, queue, mode);
    const { counts, record } = await follow(batch, sendingSince, view, stage, mode);
    const { lines, agrees } = summarise(counts, record);
    print('');
    for (const line of lines) print(line);
    print(`seconds                 ${((performance.now() - startedAt) / 1_000).toFixed(1)}`);
    if (mode.keep) await keepRunning(stage, batch, queue);
    return agrees ? 0 : 1;
  } finally {
    for (const close of closers.reverse()) await close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Sends single notices until Ctrl-C. */
async function keepRunning({ env }: Stage, batch: string, queue: NoticeQueue): Promise<void> {
  print('\nEverything goes on running; Ctrl-C ends it. In another terminal:\n');
  // Safe to print: this Redis belongs to the demo, or is the user's own REDIS_URL.
  for (const [name, value] of Object.entries(env)) print(`  export ${name}='${value}'`);
  print(`  npx notices batch ${batch}`);
  print('  npx notices send --template ORDER_READY --contact 01000012345 --var var1=Kim');
  print('  npx notices status');
  const enough = new AbortController();
  process.once('SIGINT', () => enough.abort());
  process.once('SIGTERM', () => enough.abort());
  for (let order = 1; !enough.signal.aborted; order += 1) {
    const contact = `0109${String(order % 10_000_000).padStart(7, '0')}`;
    // An outage that the user causes must not end the demo.
    await queue
      .send({ templateCode: TEMPLATE, contacts: [{ contact, var1: `A-${order}` }] })
      .catch(() => undefined);
    await setTimeout(TRICKLE_MS, undefined, { signal: enough.signal }).catch(() => undefined);
  }
}

try {
  const { values } = parseArgs({
    options: {
      keep: { type: 'boolean', default: false },
      faults: { type: 'boolean', default: false },
      contacts: { type: 'string', default: String(SAMPLE.contacts) },
    },
  });
  const contacts = Number(values.contacts);
  if (!Number.isInteger(contacts) || contacts < 2 || contacts > 10_000_000) {
    throw new RangeError('--contacts: expected a whole number from 2 to 10,000,000');
  }
  process.exitCode = await main(contacts, { keep: values.keep, faults: values.faults });
} catch (error) {
  const text = error instanceof NoticeQueueError ? describeFailure(error) : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
