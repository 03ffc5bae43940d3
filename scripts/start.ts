import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { count, ProgressBar } from '../src/cli/progress.ts';
import { describeFailure, NoticeQueueError } from '../src/errors.ts';
import { NoticeQueue } from '../src/queue/notice-queue.ts';
import { expireTokenAfter, readRecord, type EmulatorRecord } from './demo/emulator-record.ts';
import { startNotices } from './demo/processes.ts';
import { makeContacts } from './make-contacts.ts';
import { provideRedis } from './redis/provide-redis.ts';

/**
 * `npm start`: the main job on a machine that has only Node. Finds or gets a Redis, starts the
 * emulator and two worker processes, imports the contacts of examples/contacts.csv as a batch, lets
 * the token die on the way, and compares what was handed over with the emulator's own record. Ends
 * with code 1 when they differ.
 *
 * `--contacts N` imports a list of N contacts that is made for the purpose.
 * `--keep` leaves everything running until Ctrl-C.
 */

const WORKERS = 2;
const SAMPLE = { file: 'examples/contacts.csv', contacts: 10_000 };
const TEMPLATE = 'ORDER_READY';

/** Send calls of the demo, about, however long the list: few enough to be quick, enough to be seen. */
const SENDS = 1_000;

/** The demo gives up when nothing more is accepted for so long. */
const PATIENCE_MS = 60_000;

/** Everything that has to be ended, the last begun first. */
type Closers = (() => Promise<unknown>)[];

/** Where the demo's programs are. */
interface Stage {
  /** The environment of its workers, and of a reader who wants to join in. */
  readonly env: Readonly<Record<string, string>>;
  readonly emulatorUrl: string;
}

const say = (text: string) => process.stdout.write(`${text}\n`);

async function setUp(folder: string, closers: Closers): Promise<Stage> {
  const redis = await provideRedis();
  closers.push(() => redis.close());
  say(`redis     ${new URL(redis.url).host} (${redis.how})`);

  const emulator = await startNotices(
    ['emulator', '--port', '0'],
    {},
    join(folder, 'emulator.log'),
    (line) => line.startsWith('emulator at '),
  );
  closers.push(() => emulator.process.stop());
  const emulatorUrl = /http:\/\/[^, ]+/.exec(emulator.line)?.[0] ?? '';
  say(`emulator  ${emulatorUrl}`);

  const env = {
    REDIS_URL: redis.url,
    REDIS_PREFIX: `notices-demo-${process.pid}`,
    BASE_URL: emulatorUrl,
    ACCESS_KEY: 'emulator-access-key',
    SECRET_KEY: 'emulator-secret-key',
  };
  const pids: number[] = [];
  for (let index = 1; index <= WORKERS; index++) {
    const log = join(folder, `worker-${index}.log`);
    const started = await startNotices(['worker'], env, log, (line) =>
      line.includes('"event":"started"'),
    );
    pids.push(started.process.pid);
    closers.push(() => started.process.stop());
  }
  say(`workers   pids ${pids.join(' and ')}, logs in ${folder}`);
  return { env, emulatorUrl };
}

/** The list to import: the sample, or one that is made. */
async function listOf(contacts: number, folder: string): Promise<string> {
  if (contacts === SAMPLE.contacts) return SAMPLE.file;
  const file = join(folder, 'contacts.csv');
  await makeContacts(contacts, file);
  return file;
}

async function handOver(file: string, contacts: number, stage: Stage, closers: Closers) {
  const { REDIS_URL: url, REDIS_PREFIX: prefix } = stage.env;
  const queue = new NoticeQueue({ redis: { url }, prefix });
  closers.push(() => queue.close());
  const bar = new ProgressBar('importing');
  const report = await queue.import(file, {
    templateCode: TEMPLATE,
    chunkSize: Math.max(1, Math.ceil(contacts / SENDS)),
    onProgress: ({ rows }) => bar.show(rows / contacts, `${count(rows)} rows`),
  });
  bar.show(1, `${count(report.rows)} rows, ${count(report.chunks)} send calls`);
  bar.end();
  return report;
}

async function followRecord(url: string, total: number, begun: number): Promise<EmulatorRecord> {
  const bar = new ProgressBar('sending  ');
  let movedAt = performance.now();
  let seen = -1;
  for (;;) {
    const record = await readRecord(url);
    const now = performance.now();
    if (record.contacts !== seen) {
      seen = record.contacts;
      movedAt = now;
    }
    const rate = count(Math.round(record.contacts / ((now - begun) / 1_000 || 1)));
    const sent = `${count(record.contacts)} of ${count(total)}`;
    bar.show(record.contacts / total, `${sent}, ${rate}/s, ${record.tokens.issued} tokens`);
    if (record.contacts >= total || now - movedAt > PATIENCE_MS) {
      bar.end();
      return record;
    }
    await setTimeout(100);
  }
}

async function main(contacts: number, keep: boolean): Promise<number> {
  const begun = performance.now();
  const closers: Closers = [];
  const folder = await mkdtemp(join(tmpdir(), 'notices-demo-'));
  try {
    const stage = await setUp(folder, closers);
    const { emulatorUrl } = stage;
    await expireTokenAfter(emulatorUrl, Math.floor(contacts / 2));
    const file = await listOf(contacts, folder);
    const sendingSince = performance.now();
    const report = await handOver(file, contacts, stage, closers);
    const record = await followRecord(emulatorUrl, report.contacts, sendingSince);
    const lost = report.contacts - record.distinct;
    say('');
    say(`contacts handed over    ${count(report.contacts)}`);
    say(`accepted by the service ${count(record.distinct)}`);
    say(`sent twice              ${count(record.twice)}`);
    say(`lost                    ${count(lost)}`);
    say(`tokens issued           ${record.tokens.issued}`);
    say(`seconds                 ${((performance.now() - begun) / 1_000).toFixed(1)}`);
    if (keep) await keepRunning(stage, report.batch);
    return lost === 0 && record.twice === 0 ? 0 : 1;
  } finally {
    for (const close of closers.reverse()) await close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function keepRunning({ env }: Stage, batch: string): Promise<void> {
  say('\nEverything goes on running; Ctrl-C ends it. In another terminal:\n');
  // Fine to show: this Redis is the demo's own, or the reader's own REDIS_URL.
  for (const [name, value] of Object.entries(env)) say(`  export ${name}='${value}'`);
  say(`  npx notices batch ${batch}`);
  say('  npx notices send --template ORDER_READY --contact 01000012345 --var var1=Kim');
  say('  npx notices status');
  await new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}

try {
  const { values } = parseArgs({
    options: {
      keep: { type: 'boolean', default: false },
      contacts: { type: 'string', default: String(SAMPLE.contacts) },
    },
  });
  const contacts = Number(values.contacts);
  if (!Number.isInteger(contacts) || contacts < 2 || contacts > 10_000_000) {
    throw new RangeError('--contacts: expected a whole number from 2 to 10,000,000');
  }
  process.exitCode = await main(contacts, values.keep);
} catch (error) {
  const text = error instanceof NoticeQueueError ? describeFailure(error) : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
