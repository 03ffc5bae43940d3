/**
 * Several light workers in one process, so that few processes make a fleet (legs/sharing.ts): ours
 * without its log, the usual forty lines over undici, and either without the request. They take jobs from
 * the moment their parent says so.
 */
import { Worker, type Processor } from 'bullmq';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.ts';
import { processEnvironment } from '../../src/config/environment.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { startNoticeWorker } from '../../workers/process/notice-worker.ts';
import { InFlight } from '../../workers/queue/in-flight.ts';
import { buildSendWorker, lanesOf } from '../../workers/queue/send-worker.ts';
import { places, tell } from './tell.ts';
import { undiciSender } from './undici-sender.ts';

/** What a worker of the process is. */
export type WorkerKind = 'ours' | 'ours-light' | 'bullmq' | 'bullmq-light';

const { store, service } = places();
const [kind, count = '1', concurrency = '1'] = process.argv.slice(4);
const report = (error: Error) => console.error(error.message);
const nothing = () => Promise.resolve(null);

/** Our worker of single notices: its BullMQ worker with its settings, and jobs that send nothing. */
function buildOurs(): Worker {
  const config = loadConfig(processEnvironment());
  return buildSendWorker(
    {
      redis: connectRedis(config.redis, 'worker', report),
      keys: keysOf(config.redis.prefix, config.account),
      lane: lanesOf(config.worker).notices,
      settings: config.worker,
      inFlight: new InFlight(),
    },
    nothing,
  );
}

function buildBullmq(run: Processor): Worker {
  return new Worker('bare', run, {
    connection: new Redis(store, { maxRetriesPerRequest: null }),
    concurrency: Number(concurrency),
    removeOnComplete: { count: 1_000 },
    autorun: false,
  });
}

async function builderOf(of: string | undefined): Promise<() => Worker> {
  if (of === 'ours-light') return buildOurs;
  if (of === 'bullmq-light') return () => buildBullmq(nothing);
  const send = await undiciSender(service);
  return () => buildBullmq((job) => send(job.data));
}

async function prepare(): Promise<() => Promise<void>> {
  const all = Array.from({ length: Number(count) });
  if (kind === 'ours') {
    const logger = pino({ level: 'silent' });
    return async () => {
      await Promise.all(all.map(() => startNoticeWorker({ logger })));
    };
  }
  const build = await builderOf(kind);
  const workers = all.map(build);
  for (const worker of workers) worker.on('error', report);
  await Promise.all(workers.map((worker) => worker.waitUntilReady()));
  return () => {
    for (const worker of workers) void worker.run().catch(report);
    return Promise.resolve();
  };
}

const start = await prepare();
process.once('message', () => void start().then(() => tell({ running: true }), report));
tell({ prepared: true });
