import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { Ledger } from '../src/batch/ledger.ts';
import { payloadKey, payloadKeys } from '../src/batch/payload-key.ts';
import type { Config, ServiceConfig } from '../src/config/config.ts';
import { startAlerts } from '../src/ops/alerts/alert-watch.ts';
import { Intents } from '../src/queue/intents.ts';
import { HoldGate } from '../src/queue/hold-gate.ts';
import { connectRedis, readyWithin } from '../src/redis/connect.ts';
import { redisErrorWord } from '../src/redis/failure.ts';
import { Hints } from '../src/redis/hints.ts';
import { keysOf, pairName } from '../src/redis/keys.ts';
import { requireSuitable } from '../src/redis/suitability.ts';
import { createServiceClient } from '../src/service/service-client.ts';
import { TokenSeal } from '../src/token/seal.ts';
import { TokenSlot } from '../src/token/token-slot.ts';
import { VERSION } from '../src/version.ts';
import { AttemptLog } from './attempt-log.ts';
import { runChunk } from './chunk-handler.ts';
import { startChunkSweeper } from './chunk-sweeper.ts';
import { runJob } from './handler.ts';
import { startHeart } from './heart.ts';
import { lanesOf } from './lanes.ts';
import { LockFence } from './lock-fence.ts';
import { buildSendWorker } from './send-worker.ts';
import { startStallWatch } from './stall-watch.ts';

/** One worker in this process. */
export interface RunningWorker {
  readonly id: string;
  /**
   * Stops: fetches nothing more, gives back what has not been sent, lets what is being sent finish.
   * Safe to call twice; the second call waits for the first.
   */
  stop(): Promise<void>;
}

/** A worker waits this long for Redis at its start before it says so in the log. */
const PATIENCE_MS = 5_000;

/**
 * Composes and starts one worker process.
 *
 * Redis may be away at the start: the worker says so, waits, and begins when Redis is there.
 *
 * @param abandoned aborted when the process is asked to stop while Redis is still away
 * @param onStall called when the worker takes nothing although jobs wait: it should be started anew
 * @returns undefined when the start was abandoned
 * @throws NoticeQueueError REDIS_UNSUITABLE
 */
export async function startWorker(
  config: Config & { readonly service: ServiceConfig },
  logger: Logger,
  abandoned: AbortSignal,
  onStall: () => void = () => {},
): Promise<RunningWorker | undefined> {
  const id = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const log = logger.child({ worker: id });
  const keys = keysOf(config.redis.prefix, config.account);
  const pair = pairName(config.service.baseUrl, config.service.accessKey);

  const quiet = quietly(log);
  const redis = connectRedis(config.redis, 'worker', quiet);
  const subscriber = connectRedis(config.redis, 'subscriber', quiet);
  while (!(await readyWithin(redis, PATIENCE_MS))) {
    if (abandoned.aborted) {
      redis.disconnect();
      subscriber.disconnect();
      return undefined;
    }
    log.warn({ event: 'waiting-for-redis' }, 'Redis does not answer yet; check REDIS_URL');
  }
  try {
    await requireSuitable(redis);
  } catch (error) {
    redis.disconnect();
    subscriber.disconnect();
    throw error;
  }

  const hints = new Hints(subscriber);
  const gate = new HoldGate(
    redis,
    hints,
    keys,
    {
      probeMinMs: config.worker.holdProbeMinMs,
      probeMaxMs: config.worker.holdProbeMaxMs,
      retryAfterMaxMs: config.worker.retryAfterMaxMs,
      probeTtlMs: config.worker.sendDeadlineMs,
    },
    (move) => log.info({ event: 'hold', ...move }, `queue ${move.kind}`),
  );
  const service = createServiceClient(config.service);
  const tokens = new TokenSlot({
    redis,
    hints,
    keys: keys.token(pair),
    seal: new TokenSeal(config.service.secretKey, pair),
    issue: (signal) => service.issueToken(signal),
    settings: config.token,
    issuer: id,
    onEvent: ({ kind, ...facts }) => log.info({ event: `token-${kind}`, ...facts }),
  });
  const fence = new LockFence(config.worker.lockDurationMs);
  const stopping = new AbortController();
  const parts = {
    service,
    tokens,
    gate,
    fence,
    log: new AttemptLog(log),
    intents: new Intents(redis, keys),
    worker: id,
    keepFailedMs: config.worker.keepFailedMs,
    sendDeadlineMs: config.worker.sendDeadlineMs,
    stopping: stopping.signal,
  };
  const ledger = new Ledger(redis, keys);
  const chunkParts = {
    ...parts,
    ledger,
    payloadKeys: payloadKeys(config.queue),
    sealWith:
      config.queue.payloadKey === undefined ? undefined : payloadKey(config.queue.payloadKey),
    lockKey: (job: string) => keys.chunkLock(job),
  };
  let active = 0;
  let begun = 0;
  const counted = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    active++;
    begun++;
    try {
      return await run();
    } finally {
      active--;
    }
  };
  const lanes = lanesOf(config.worker);
  const workers = [
    buildSendWorker(redis, keys, lanes.notices, config.worker, (job, lockToken, signal) =>
      counted(() => runJob(job, lockToken, signal, parts)),
    ),
    buildSendWorker(redis, keys, lanes.chunks, config.worker, (job, lockToken, signal) =>
      counted(() => runChunk(job, lockToken, signal, chunkParts)),
    ),
  ];
  for (const worker of workers) {
    worker.on('error', quiet);
    worker.on('lockRenewalFailed', (ids) => {
      for (const job of ids) worker.cancelJob(job, 'the lock of the job is lost');
    });
    fence.watch(worker);
  }

  gate.start();
  await tokens.start();
  const { heartbeatMs } = config.worker;
  const concurrency = lanes.notices.concurrency + lanes.chunks.concurrency;
  const heart = startHeart(
    redis,
    keys,
    { id, concurrency, active: () => active },
    heartbeatMs,
    log,
  );
  const sweeper = startChunkSweeper(redis, hints, keys, ledger, log);
  const { stallGraceMs } = config.worker;
  const counts = { active: () => active, begun: () => begun };
  const stallWatch = startStallWatch(redis, keys, counts, stallGraceMs, log, onStall);
  const alerts =
    config.alerts === undefined
      ? undefined
      : startAlerts(
          redis,
          keys,
          {
            ...config.alerts,
            keepFailedMs: config.worker.keepFailedMs,
            queue: `${config.redis.prefix}:${config.account}`,
          },
          log,
          true,
        );
  for (const worker of workers) void worker.run().catch(quiet);
  log.info({ event: 'started', concurrency, version: VERSION });

  let stopped: Promise<void> | undefined;
  return {
    id,
    stop: () => {
      stopped ??= (async () => {
        log.info({ event: 'stopping' });
        stopping.abort();
        await Promise.all(workers.map((worker) => worker.close()));
        await sweeper.stop();
        await stallWatch.stop();
        await heart.stop();
        // After the goodbye: the last worker of a fleet is missed from here on.
        await alerts?.stop();
        gate.stop();
        await tokens.stop();
        await service.close();
        subscriber.disconnect();
        redis.disconnect();
        log.info({ event: 'stopped' });
      })();
      return stopped;
    },
  };
}

/** Redis that is away reports itself many times a second; the log hears it once a second. */
function quietly(log: Logger): (error: Error) => void {
  let lastAt = -Infinity;
  let lastCode = '';
  return (error) => {
    const code = redisErrorWord(error);
    const now = performance.now();
    if (code === lastCode && now - lastAt < 1_000) return;
    lastAt = now;
    lastCode = code;
    log.warn({ event: 'redis-trouble', code });
  };
}
