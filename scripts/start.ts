import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parse } from 'csv-parse';
import { describeFailure, NoticeQueueError } from '../src/errors.ts';
import { NoticeQueue } from '../src/queue/notice-queue.ts';
import { expireTokenAfter, readRecord, type EmulatorRecord } from './demo/emulator-record.ts';
import { startNotices, type DemoProcess } from './demo/processes.ts';
import { ProgressBar } from './demo/progress-bar.ts';
import { provideRedis } from './redis/provide-redis.ts';

/**
 * `npm start`: the main job on a machine that has only Node. Finds or gets a Redis, starts the
 * emulator and two worker processes, hands over the contacts of examples/contacts.csv one notice
 * each, lets the token die once on the way, and compares what was handed over with the emulator's
 * own record. Ends with code 1 when they differ.
 *
 * `--keep` leaves everything running until Ctrl-C.
 */

const WORKERS = 2;
const CONTACTS = new URL('../../examples/contacts.csv', import.meta.url).pathname;
const TEMPLATE = 'ORDER_READY';

/** The demo gives up when nothing more is accepted for so long. */
const PATIENCE_MS = 60_000;

interface Row {
  contact: string;
  var1: string;
  var2: string;
  var3: string;
}

async function* noticesFrom(file: string) {
  const rows: AsyncIterable<Row> = createReadStream(file).pipe(parse({ columns: true, bom: true }));
  for await (const row of rows) yield { templateCode: TEMPLATE, contacts: [{ ...row }] };
}

async function followRecord(url: string, total: number, begun: number): Promise<EmulatorRecord> {
  const bar = new ProgressBar('sending', total);
  let movedAt = performance.now();
  let seen = -1;
  for (;;) {
    const record = await readRecord(url);
    const now = performance.now();
    if (record.contacts !== seen) {
      seen = record.contacts;
      movedAt = now;
    }
    const rate = Math.round(record.contacts / ((now - begun) / 1_000 || 1));
    bar.show(record.contacts, `${rate}/s, ${record.tokens.issued} tokens`);
    if (record.contacts >= total || now - movedAt > PATIENCE_MS) {
      bar.end();
      return record;
    }
    await setTimeout(100);
  }
}

async function main(keep: boolean): Promise<number> {
  const begun = performance.now();
  const closers: (() => Promise<unknown>)[] = [];
  const logs = await mkdtemp(join(tmpdir(), 'notices-demo-'));
  const say = (text: string) => process.stdout.write(`${text}\n`);
  try {
    const redis = await provideRedis();
    closers.push(() => redis.close());
    say(`redis     ${new URL(redis.url).host} (${redis.how})`);

    const emulator = await startNotices(
      ['emulator', '--port', '0'],
      {},
      join(logs, 'emulator.log'),
      (line) => line.startsWith('emulator at '),
    );
    closers.push(() => emulator.process.stop());
    const url = /http:\/\/[^, ]+/.exec(emulator.line)?.[0] ?? '';
    say(`emulator  ${url}`);

    const prefix = `notices-demo-${process.pid}`;
    const env = {
      REDIS_URL: redis.url,
      REDIS_PREFIX: prefix,
      BASE_URL: url,
      ACCESS_KEY: 'emulator-access-key',
      SECRET_KEY: 'emulator-secret-key',
    };
    const workers: DemoProcess[] = [];
    for (let index = 1; index <= WORKERS; index++) {
      const log = join(logs, `worker-${index}.log`);
      const started = await startNotices(['worker'], env, log, (line) =>
        line.includes('"event":"started"'),
      );
      workers.push(started.process);
      closers.push(() => started.process.stop());
    }
    say(`workers   pids ${workers.map(({ pid }) => pid).join(' and ')}, logs in ${logs}`);

    const queue = new NoticeQueue({ redis: { url: redis.url }, prefix });
    closers.push(() => queue.close());
    const sendingSince = performance.now();
    const receipts = await queue.sendMany(noticesFrom(CONTACTS));
    const handedOver = receipts.reduce((sum, receipt) => sum + receipt.contacts, 0);
    await expireTokenAfter(url, Math.floor(handedOver / 2));
    const record = await followRecord(url, handedOver, sendingSince);
    const lost = handedOver - record.distinct;
    say('');
    say(`contacts handed over    ${handedOver.toLocaleString('en')}`);
    say(`accepted by the service ${record.distinct.toLocaleString('en')}`);
    say(`sent twice              ${record.twice.toLocaleString('en')}`);
    say(`lost                    ${lost.toLocaleString('en')}`);
    say(`tokens issued           ${record.tokens.issued}`);
    say(`seconds                 ${((performance.now() - begun) / 1_000).toFixed(1)}`);
    if (keep) await keepRunning(env, say);
    return lost === 0 && record.twice === 0 ? 0 : 1;
  } finally {
    for (const close of closers.reverse()) await close();
    await rm(logs, { recursive: true, force: true });
  }
}

async function keepRunning(
  env: Readonly<Record<string, string>>,
  say: (text: string) => void,
): Promise<void> {
  say('\nEverything goes on running; Ctrl-C ends it. In another terminal:\n');
  // Fine to show: this Redis is the demo's own, or the reader's own REDIS_URL.
  for (const [name, value] of Object.entries(env)) say(`  export ${name}='${value}'`);
  say('  npx notices send --template ORDER_READY --contact 01000012345 --var var1=Kim');
  say('  npx notices status');
  await new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}

try {
  const { values } = parseArgs({ options: { keep: { type: 'boolean', default: false } } });
  process.exitCode = await main(values.keep);
} catch (error) {
  const text = error instanceof NoticeQueueError ? describeFailure(error) : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
