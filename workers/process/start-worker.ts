import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { Cancellation } from '../../src/async/cancellation.ts';
import { Lifecycle } from '../../src/async/lifecycle.ts';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import type { LaneName } from '../../src/contracts/outcome.ts';
import type { CancelSignal } from '../../src/contracts/token.ts';
import { VERSION } from '../../src/contracts/version.ts';
import { JobHistories } from '../../src/fleet/job-history.ts';
import { sentTwiceCounts } from '../../src/fleet/possibly-sent-twice.ts';
import { RateLimiter } from '../../src/fleet/rate-limit/rate-limiter.ts';
import { throttledErrorLog } from '../../src/logging/logger.ts';
import { Hints } from '../../src/redis/hints.ts';
import { readAccountSecret } from '../../src/payload/account-secret.ts';
import { workerSealing } from '../../src/payload/seal.ts';
import { keysOf, pairName } from '../../src/redis/keys.ts';
import { inOneWrite } from '../../src/redis/connect.ts';
import { ServiceClient } from '../../src/service/client.ts';
import { wasRefused } from '../../src/token/token-status.ts';
import { noteAttempt } from '../../src/tracing/spans.ts';
import { TrafficTally } from '../../src/traffic/traffic.ts';
import type { ProcessHealth } from '../health/process-health.ts';
import { UnreadyReasons, type Readiness } from '../health/readiness.ts';
import { createBatchWalker } from '../maintenance/batch-walker.ts';
import { createHeartbeat } from '../maintenance/heartbeat.ts';
import { RedisMonitor } from '../maintenance/redis-monitor.ts';
import { RestoreGuard } from '../maintenance/restore-guard.ts';
import { StateFile } from '../maintenance/state-file.ts';
import type { WorkerProgram } from '../maintenance/worker-basis.ts';
import { createClock } from '../maintenance/worker-clock.ts';
import { InFlight } from '../queue/in-flight.ts';
import { JobLocks, buildSendWorker, lanesOf } from '../queue/send-worker.ts';
import { WorkerGroup } from '../queue/worker-group.ts';
import { AttemptLog } from '../send/attempt-log.ts';
import { runChunk } from '../send/chunk-job.ts';
import type { SeenList } from '../send/chunk-record.ts';
import { JobReturns } from '../send/disposition.ts';
import { NoticeEnds } from '../send/notice-end.ts';
import { runNotice } from '../send/notice-job.ts';
import { SendGate } from '../send/send-gate.ts';
import { createFleetChores, storeOwnRetention } from './fleet-chores.ts';
import { waitForRedis } from './wait-for-redis.ts';
import { watchEvents } from './watch-events.ts';
import {
  announcer,
  createHolds,
  createReports,
  createSendCheck,
  createTokens,
} from './worker-parts.ts';

export interface RunningWorker {
  readonly id: string;
  /** Why it is not ready, if so. */
  readonly readiness: Readiness;
  /**
   * Stops: takes no further jobs, requeues what has not been sent, lets what is being sent finish.
   * May be called twice; the second call waits for the first.
   */
  stop(): Promise<void>;
}

export interface StartWorkerOptions {
  readonly config: WorkerProgram;
  readonly logger: Logger;
  /** Aborted when the process is asked to stop before the worker has started. */
  readonly abandoned: AbortSignal;
  /** Where to report what this process does, for its health port. */
  readonly health?: ProcessHealth | undefined;
}

/**
 * Composes and starts one worker process.
 *
 * Redis may be away at the start: the worker logs it, waits, and starts when Redis is there.
 * @returns undefined when the start was abandoned
 * @throws NoticeQueueError CONFIG_INVALID without credentials; REDIS_UNSUITABLE
 */
export async function startWorker({
  config: { service: pair, ...others },
  logger,
  abandoned,
  health,
}: StartWorkerOptions): Promise<RunningWorker | undefined> {
  if (pair === undefined) {
    const message = 'A worker needs BASE_URL, ACCESS_KEY and SECRET_KEY.';
    throw new NoticeQueueError('CONFIG_INVALID', message);
  }
  const config = { ...others, service: pair };
  const id = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const log = logger.child({ worker: id });
  const keys = keysOf(config.redis.prefix, config.account);
  const { heartbeatMs, sendDeadlineMs } = config.worker;

  const onRedisError = throttledErrorLog(log, (code) => health?.counted.redisError(code));
  const connected = await waitForRedis(config, onRedisError, log, abandoned);
  if (connected === undefined) return undefined;
  const { redis, subscriber, found, disconnect } = connected;
  const lifecycle = new Lifecycle();
  lifecycle.onStop(disconnect);

  const stopping = new AbortController();
  // Every job in progress listens to it; Node would warn of a leak at eleven.
  setMaxListeners(0, stopping.signal);
  const readiness = new UnreadyReasons();
  redis.on('close', () => readiness.set('redis-away', true));
  redis.on('ready', () => readiness.set('redis-away', false));
  const hints = new Hints(subscriber);
  const basis = { id, config, redis, hints, keys, log, readiness, health };
  const inFlight = new InFlight();
  const lanes = lanesOf(config.worker);
  const concurrency = lanes.notices.concurrency + lanes.chunks.concurrency;
  const traffic = new TrafficTally();
  const attemptLog = new AttemptLog(log, (attempt) => {
    traffic.attempt(attempt);
    health?.counted.attempt(attempt);
    noteAttempt(attempt);
  });

  const clock = createClock(basis);
  const holds = createHolds(
    basis,
    clock.now,
    () => rateLimiter.rejectAll(),
    (held) => gate.templates.templateHeld(held),
    (suspended) => workers.suspend('alone', suspended),
  );
  const rateLimiter = new RateLimiter(redis, hints, keys, config.worker.rateLimit, {
    onDecrease: (decrease) =>
      log.warn({ event: 'rate-limit-decreased', ...decrease }, 'rate limit decreased after a 429'),
    onError: (error) => attemptLog.trouble('rate-limit', error),
  });
  const heartbeat = createHeartbeat(
    basis,
    {
      concurrency,
      active: () => inFlight.active,
      acceptedAgoMs: () => gate.acceptedAgoMs,
      takeSent: () => traffic.takeRecent(),
    },
    () => restoreGuard.check(),
    () => restoreGuard.deregister(),
  );
  const { stateFile } = config.restore;
  const restoreGuard = new RestoreGuard({
    redis,
    keys,
    settings: config.restore,
    heartbeat: () => heartbeat.state(),
    heartbeatMs,
    file: stateFile === undefined ? undefined : new StateFile(stateFile, keys.bullPrefix, log),
    readiness,
    gate: holds,
    log,
    stopping: new Cancellation(stopping.signal, abandoned),
  });
  const service = new ServiceClient(config.service);
  const tokens = createTokens(basis, service);
  const redisMonitor = new RedisMonitor(basis, found, (unfit) => {
    readiness.set('redis-unsuitable', unfit);
    workers.suspend('redis-unsuitable', unfit);
  });
  const sealing = workerSealing(config.account, config.queue);
  const returns = new JobReturns(redis, keys.account, sealing, stopping.signal, {
    suspend: (reason, applies) => workers.suspend(reason, applies),
    report: (reason, forMs) => readiness.report(reason, forMs),
  });
  const locks = new JobLocks(config.worker.lockDurationMs, clock.now);
  const [ledger, histories] = [new Ledger(redis, keys), new JobHistories(redis, keys)];
  const gate = new SendGate({
    isSuspended: () => workers.suspended,
    isComplete: () => restoreGuard.passed(),
    holds,
    histories,
    rateLimiter,
    log: attemptLog,
    now: clock.now,
    sendWindows: config.worker.sendWindows,
  });
  const doNotSend = createSendCheck(basis, sealing, (forMs) =>
    readiness.report('payload-key', forMs),
  );
  const context = {
    service,
    tokens,
    gate,
    locks,
    returns,
    log: attemptLog,
    histories,
    doNotSend,
    worker: id,
    ends: new NoticeEnds(redis, keys, config.worker.noticeEvents),
    ...sentTwiceCounts(redis, keys),
    sendDeadlineMs,
    unknownResends: config.worker.unknownResends,
    now: clock.now,
    inOneWrite: () => inOneWrite(redis),
    stopping: stopping.signal,
    ledger,
    sealing,
    lists: new Map<string, SeenList>(),
    lockKey: (job: string) => keys.chunkLock(job),
  };
  const contextOf = (lane: LaneName) => ({
    ...context,
    rateLimit: { take: (cancel: CancelSignal) => rateLimiter.take(cancel, lane) },
  });
  const contexts = { notices: contextOf('notices'), chunks: contextOf('chunks') };
  const forget = (job: string) => histories.forget(job);
  const { worker: settings } = config;
  const options = { redis, keys, settings, inFlight, now: clock.now, forget };
  const both = [
    buildSendWorker({ ...options, lane: lanes.notices, announce: announcer(basis) }, (job) =>
      runNotice(job, contexts.notices),
    ),
    buildSendWorker({ ...options, lane: lanes.chunks }, (job) => runChunk(job, contexts.chunks)),
  ];
  const workers = new WorkerGroup(both, { redis, inFlight, locks, onError: onRedisError });

  lifecycle.onStop(() => service.close().finally(() => attemptLog.flush()));
  // BullMQ workers connect when they are built: they are closed also where the start ends before theirs.
  lifecycle.onStop(() => workers.stop(), Infinity);
  if (!(await lifecycle.start(restoreGuard))) {
    await lifecycle.stop();
    return undefined;
  }
  // It keeps the secret of the account over a change of the key; if it fails, the next one does.
  if (sealing.keys.length > 1) {
    await readAccountSecret(redis, keys.account, sealing).catch(() => {});
  }
  await storeOwnRetention(redis, keys, config.worker, attemptLog);
  await lifecycle.start(clock);
  await lifecycle.start(holds);
  await lifecycle.start(doNotSend);
  await lifecycle.start(rateLimiter);
  // An issuance that is under way is stored: a lost token would cost the fleet another one.
  await lifecycle.start(tokens, config.token.lockTtlMs);
  // Stops after the heartbeat: it reports when no worker is left.
  await lifecycle.start(watchEvents(redis, keys, config, log, true));
  await lifecycle.start(heartbeat);
  // The last report must not use up the time of the others when Redis does not answer.
  await lifecycle.start(createReports(basis, traffic, clock.now), 1_000);
  await lifecycle.start(createBatchWalker(basis, ledger));
  await lifecycle.start(createFleetChores({ redis, keys, ledger }, config.worker, log));
  health?.watch(readiness, { inFlight: () => inFlight.active, slots: concurrency });
  // Last, so that this process takes the probe that it makes due.
  await holds.startProbing(await wasRefused(redis, keys.token(pairName(config.service))));
  // As long as sends are under way; the process bounds its stop as a whole.
  await lifecycle.start(workers, Infinity);
  await lifecycle.start(redisMonitor);
  log.info({ event: 'started', concurrency, version: VERSION });

  let stopped: Promise<void> | undefined;
  const stop = async () => {
    log.info({ event: 'stopping' });
    readiness.set('stopping', true);
    stopping.abort();
    await lifecycle.stop();
    log.info({ event: 'stopped' });
  };
  return { id, readiness, stop: () => (stopped ??= stop()) };
}
