import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { payloadKey, payloadKeys } from '../../src/batch/payload/payload-key.ts';
import type { Config, ServiceConfig } from '../../src/config/config.ts';
import type { SeenAttempt } from '../../src/contracts/seen-attempt.ts';
import { TrafficTally } from '../../src/traffic/tally.ts';
import { startAlerts } from '../../src/ops/alerts/alert-watch.ts';
import { Intents } from '../../src/fleet/intents/intents.ts';
import { HoldGate } from '../../src/fleet/hold/hold-gate.ts';
import { RateLimiter } from '../../src/fleet/rate-limit/rate-limiter.ts';
import { inOneWrite } from '../../src/redis/one-write.ts';
import { Hints } from '../../src/redis/hints.ts';
import { keysOf, pairName } from '../../src/redis/keys.ts';
import { createServiceClient } from '../../src/service/client.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import { SharedToken } from '../../src/token/shared-token.ts';
import { noteAttempt } from '../../src/tracing/spans.ts';
import { VERSION } from '../../src/contracts/version.ts';
import { AttemptLog } from '../send/attempt-log.ts';
import { buildChunkWorker, buildNoticeWorker } from './build-workers.ts';
import { startChunkSweeper } from '../maintenance/chunk-sweeper.ts';
import { briefly, closeWorkers } from './shutdown.ts';
import { createHeartbeat } from '../maintenance/heartbeat.ts';
import { InFlight } from '../queue/in-flight.ts';
import { lanesOf } from '../queue/lanes.ts';
import { JobLockGuard } from '../queue/job-lock-guard.ts';
import { waitForRedis } from './wait-for-redis.ts';
import type { ProcessHealth } from '../health/process-health.ts';
import { UnreadyReasons, type Readiness } from '../health/readiness.ts';
import { throttledErrorLog } from '../../src/logging/throttled-error-log.ts';
import { startRedisMonitor } from '../maintenance/redis-monitor.ts';
import { RestoreGuard } from '../maintenance/restore-guard.ts';
import { startStallDetector } from '../maintenance/stall-detector.ts';
import { StateFile } from '../maintenance/state-file.ts';
import { SendGate } from '../send/send-gate.ts';
import { timedTokens } from '../send/token-wait.ts';
import { startTrafficReport } from '../maintenance/traffic-report.ts';
import { startWorkerClock } from '../maintenance/worker-clock.ts';

/** One worker in this process. */
export interface RunningWorker {
  readonly id: string;
  /** Why it is not ready, if so. */
  readonly readiness: Readiness;
  /**
   * Stops: fetches nothing more, gives back what has not been sent, lets what is being sent finish.
   * Safe to call twice; the second call waits for the first.
   */
  stop(): Promise<void>;
}

/**
 * Composes and starts one worker process.
 *
 * Redis may be away at the start: the worker says so, waits, and begins when Redis is there.
 *
 * @param abandoned aborted when the process is asked to stop while Redis is still away
 * @param onStall called when the worker takes nothing although jobs wait: it should be started anew
 * @param health told what this process does, where somebody may ask
 * @returns undefined when the start was abandoned
 * @throws NoticeQueueError REDIS_UNSUITABLE
 */
export async function startWorker(
  config: Config & { readonly service: ServiceConfig },
  logger: Logger,
  abandoned: AbortSignal,
  onStall: () => void = () => {},
  health?: ProcessHealth,
): Promise<RunningWorker | undefined> {
  const id = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const log = logger.child({ worker: id });
  const keys = keysOf(config.redis.prefix, config.account);
  const pair = pairName(config.service.baseUrl, config.service.accessKey);

  const quiet = throttledErrorLog(log, (word) => health?.counted.redisError(word));
  const met = await waitForRedis(config, keys, quiet, log, abandoned);
  if (met === undefined) return undefined;
  const { redis, subscriber, disconnect } = met;
  const readiness = new UnreadyReasons();
  redis.on('close', () => readiness.set('redis-away', true));
  redis.on('ready', () => readiness.set('redis-away', false));
  const stopping = new AbortController();
  const inFlight = new InFlight(config.worker.lockDurationMs);
  const lanes = lanesOf(config.worker);
  const concurrency = lanes.notices.mostJobs + lanes.chunks.mostJobs;
  const { heartbeatMs, stallGraceMs } = config.worker;
  const counts = { id, concurrency, active: () => inFlight.active };
  const heart = createHeartbeat(counts, heartbeatMs, readiness, log);
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
    (move) => {
      log.info({ event: 'hold', ...move }, `queue ${move.kind}`);
      if (move.kind === 'held') pacer.rejectAll();
    },
  );
  const { stateFile } = config.restore;
  const guard = new RestoreGuard({
    redis,
    keys,
    settings: config.restore,
    heartbeat: () => heart.state(),
    heartbeatMs,
    file: stateFile === undefined ? undefined : new StateFile(stateFile, keys.bullPrefix, log),
    readiness,
    gate,
    log,
    stopping: AbortSignal.any([stopping.signal, abandoned]),
  });
  if (!(await guard.begin())) {
    heart.stop();
    disconnect();
    return undefined;
  }

  const traffic = new TrafficTally();
  const onAttempt = (attempt: SeenAttempt) => {
    traffic.attempt(attempt);
    health?.counted.attempt(attempt);
    noteAttempt(attempt);
  };
  const onTokenWait = (ms: number) => {
    traffic.tokenWait(ms);
    health?.counted.tokenWait(ms);
  };
  const attemptLog = new AttemptLog(log, onAttempt);
  const pacer = new RateLimiter(redis, hints, keys, config.worker.rateLimit, {
    onDecrease: (decrease) =>
      log.warn({ event: 'pace-fell', ...decrease }, 'the rate limit was decreased after a 429'),
    onError: (error) => attemptLog.trouble('pace', error),
  });
  const service = createServiceClient(config.service);
  const tokens = new SharedToken({
    redis,
    hints,
    keys: keys.token(pair),
    seal: new TokenSeal(config.service.secretKey, pair),
    issue: (signal) => service.issueToken(signal),
    settings: config.token,
    issuer: id,
    onEvent: (event) => {
      const { kind, ...facts } = event;
      log.info({ event: `token-${kind}`, ...facts });
      health?.counted.tokenEvent(event);
    },
  });
  const clock = await startWorkerClock(redis, config.worker.heartbeatMs, log);
  const fence = new JobLockGuard(config.worker.lockDurationMs);
  let unfit = false;
  const parts = {
    service,
    tokens: timedTokens(tokens, onTokenWait),
    gate: new SendGate({
      isSuspended: () => unfit,
      isComplete: () => guard.passed(),
      holds: gate,
      rateLimit: pacer.lane('notices'),
      log: attemptLog,
    }),
    fence,
    rateLimit: pacer.lane('notices'),
    log: attemptLog,
    intents: new Intents(redis, keys),
    worker: id,
    keepFailedMs: config.worker.keepFailedMs,
    sendDeadlineMs: config.worker.sendDeadlineMs,
    now: clock.now,
    inOneWrite: () => inOneWrite(redis),
    stopping: stopping.signal,
  };
  const ledger = new Ledger(redis, keys);
  const toWorkers = { redis, keys, settings: config.worker, lanes, inFlight };
  const notices = buildNoticeWorker(toWorkers, parts);
  const chunks = buildChunkWorker(toWorkers, {
    ...parts,
    rateLimit: pacer.lane('chunks'),
    ledger,
    payloadKeys: payloadKeys(config.queue),
    sealWith:
      config.queue.payloadKey === undefined ? undefined : payloadKey(config.queue.payloadKey),
    lockKey: (job: string) => keys.chunkLock(job),
  });
  const workers = [notices, chunks];
  for (const worker of workers) {
    worker.on('error', quiet);
    worker.on('lockRenewalFailed', (ids) => {
      for (const job of ids) worker.cancelJob(job, 'the lock of the job is lost');
    });
    fence.watch(worker);
    inFlight.watch(worker);
  }

  gate.start();
  pacer.start();
  await tokens.start();
  heart.start(() => guard.check());
  const trafficReport = startTrafficReport(redis, keys, traffic, heartbeatMs, log);
  const sweeper = startChunkSweeper(redis, hints, keys, ledger, log);
  const watched = { ...counts, started: () => inFlight.begun, resting: () => unfit };
  const onLook = (stillMs: number) => health?.counted.standstill(stillMs);
  const stallWatch = startStallDetector(
    redis,
    keys,
    watched,
    stallGraceMs,
    readiness,
    log,
    onStall,
    onLook,
  );
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
  health?.watch(readiness, { inFlight: () => inFlight.active, slots: concurrency });
  for (const worker of workers) void worker.run().catch(quiet);
  const redisWatch = startRedisMonitor(redis, keys, config.redisWatch, met.found, log, (now) => {
    readiness.set('redis-unsuitable', now);
    if (now === unfit) return;
    unfit = now;
    for (const worker of workers) void (now ? worker.pause(true) : worker.resume()).catch(quiet);
  });
  log.info({ event: 'started', concurrency, version: VERSION });

  let stopped: Promise<void> | undefined;
  return {
    id,
    readiness,
    stop: () => {
      stopped ??= (async () => {
        log.info({ event: 'stopping' });
        readiness.set('stopping', true);
        stopping.abort();
        redisWatch.stop();
        await closeWorkers(workers, inFlight, redis);
        await briefly(sweeper.stop());
        await briefly(stallWatch.stop());
        await briefly(trafficReport.stop());
        heart.stop();
        await briefly(guard.end());
        // After the goodbye: the last worker of a fleet is missed from here on.
        await briefly(alerts?.stop() ?? Promise.resolve());
        clock.stop();
        gate.stop();
        pacer.stop();
        await tokens.stop();
        await service.close();
        disconnect();
        log.info({ event: 'stopped' });
      })();
      return stopped;
    },
  };
}
