import { InputError } from '../contracts/errors.ts';
import { constantsIn, type Constants } from './constants.ts';
import { processEnvironment, type Environment } from './environment.ts';
import type { MistypedVariable } from './mistyped.ts';
import { readEnvironment, type ReadOptions } from './read.ts';
import { digestsOf } from './compared.ts';
import { asTree, type ValueTree } from './variables.ts';

/**
 * The whole configuration. Each field is described at its row in `variables/`. Names of durations
 * end in `Ms`: milliseconds.
 */
export type Config = Readonly<ReturnType<typeof configOf>> & {
  /** The variables that are probably mistyped; a program that starts logs them as warnings. */
  readonly mistyped: readonly MistypedVariable[];
  /** What workers compare ({@link digestsOf}). */
  readonly digests: ReturnType<typeof digestsOf>;
};

/** How to reach the messaging service; undefined without its URL or its key pair. */
export type ServiceConfig = Readonly<NonNullable<Config['service']>>;

/** How workers take jobs from the queue, retry them and stop. */
export type WorkerConfig = Readonly<Config['worker']>;

/** Where a worker serves its health and its metrics; port 0 for nowhere. */
export type HealthConfig = Readonly<WorkerConfig['health']>;

/** What workers require of Redis, and how often they check it. */
export type RedisWatchConfig = Readonly<Config['redisWatch']>;

/** How workers detect that Redis was restored from an old copy. */
export type RestoreConfig = Readonly<Config['restore']>;

/** Where the ops server listens, and who may access it. */
export type OpsConfig = Readonly<Config['ops']>;

/**
 * Reads the configuration.
 *
 * @param environment variables by name. Default: those of this process
 * @throws InputError CONFIG_INVALID, which names every invalid value and every broken rule at once
 */
export function loadConfig(
  environment: Environment = processEnvironment(),
  options?: ReadOptions,
): Config {
  const { values, issues, mistyped } = readEnvironment(environment, options);
  if (issues.length > 0) throw new InputError('CONFIG_INVALID', issues);
  const tree = asTree(values);
  const constants = constantsIn(environment, tree.service.answerTimeoutMs);
  return { ...configOf(tree, constants), mistyped, digests: digestsOf(values) };
}

/** After a 429 the rate limit decreases by half, and never below one request a second. */
const RATE_LIMIT = { floor: 1, fallPercent: 50 };

/** Immediate retries, within an attempt, of a request that was provably not sent. */
const NOT_SENT_RETRIES = 2;

/** Adds the constants, and the fields that follow from other fields. */
function configOf(
  { service, redis, redisWatch, queue, worker, restore, ops, events, ...others }: ValueTree,
  constants: Constants,
) {
  const { address, ...opsOthers } = ops;
  const heartbeatMs = constants.HEARTBEAT_MS;
  const holdProbeMinMs = Math.min(constants.HOLD_PROBE_MIN_MS, constants.HOLD_PROBE_MAX_MS);
  return {
    ...others,
    redis: {
      ...redis,
      ...pairIn(redis.tlsCert),
      connectTimeoutMs: constants.REDIS_CONNECT_TIMEOUT_MS,
    },
    service: serviceConfig(service, worker, constants),
    /** Also without a service: `notices doctor --answer` needs no key pair. */
    answerRules: service.answerRules,
    queue: { ...queue, enqueueTimeoutMs: constants.ENQUEUE_TIMEOUT_MS },
    token: {
      lockTtlMs: constants.TOKEN_LOCK_TTL_MS,
      issueDeadlineMs: constants.ISSUE_DEADLINE_MS,
      graceMs: constants.TOKEN_GRACE_MS,
      /** A younger token that gets a 403 is tried once more: most of those are not caused by the token. */
      minAgeMs: 10 * constants.TOKEN_GRACE_MS,
      budget: constants.TOKEN_BUDGET,
      budgetWindowMs: constants.TOKEN_BUDGET_WINDOW_MS,
      renewBeforeMs: constants.TOKEN_RENEW_BEFORE_MS,
      /** Pauses after refused issuances: as between the probes of a hold, at most a minute. */
      refusedMinMs: Math.min(holdProbeMinMs, 60_000),
      refusedMaxMs: Math.min(constants.HOLD_PROBE_MAX_MS, 60_000),
    },
    worker: {
      ...worker,
      keepFailedMs: queue.keepFailedMs,
      heartbeatMs,
      sendDeadlineMs: constants.SEND_DEADLINE_MS,
      lockDurationMs: constants.LOCK_DURATION_MS,
      shutdownTimeoutMs: constants.SHUTDOWN_TIMEOUT_MS,
      backoffBaseMs: constants.BACKOFF_BASE_MS,
      backoffCapMs: constants.BACKOFF_CAP_MS,
      holdProbeMinMs,
      holdProbeMaxMs: constants.HOLD_PROBE_MAX_MS,
      retryAfterMaxMs: constants.RETRY_AFTER_MAX_MS,
      rateLimit: {
        limit: worker.rateLimit,
        recoveryMs: constants.RATE_LIMIT_RECOVERY_MS,
        ...RATE_LIMIT,
      },
      /** How often workers look for jobs of crashed workers. */
      stalledIntervalMs: heartbeatMs,
      /** A worker with nothing in flight for this long, although jobs wait and no hold is active, exits. */
      stallGraceMs: 12 * heartbeatMs,
    },
    redisWatch: {
      ...redisWatch,
      memoryHeadroom: constants.REDIS_MEMORY_HEADROOM,
      everyMs: 3 * heartbeatMs,
    },
    restore: {
      ...restore,
      toleranceMs: constants.RESTORE_TOLERANCE_MS,
      gapMs: constants.RESTORE_GAP_MS,
    },
    ops: {
      ...opsOthers,
      ...address,
      sessionMs: constants.OPS_SESSION_MS,
      maxBodyBytes: constants.OPS_MAX_BODY_BYTES,
      noticesPerMinute: constants.OPS_NOTICES_PER_MINUTE,
      trustedProxy: (ops.trustedProxy ?? '').split(/[\s,]+/).filter((part) => part !== ''),
      hostNames: (ops.hostNames ?? '').split(/[\s,]+/).filter((part) => part !== ''),
    },
    /** Where events are posted; undefined without a URL. */
    events: webhookConfig(events),
  };
}

function serviceConfig(
  service: ValueTree['service'],
  { concurrency, batchConcurrency }: ValueTree['worker'],
  constants: Constants,
) {
  const { baseUrl, accessKey, secretKey, apiVersion } = service;
  if (baseUrl === undefined || accessKey === undefined || secretKey === undefined) return undefined;
  return {
    ...service,
    ...pairIn(service.tlsCert),
    baseUrl,
    accessKey,
    secretKey,
    sendPath: service.sendPath ?? `/api/${apiVersion}/notices/send`,
    connectTimeoutMs: constants.CONNECT_TIMEOUT_MS,
    sendDeadlineMs: constants.SEND_DEADLINE_MS,
    issueDeadlineMs: constants.ISSUE_DEADLINE_MS,
    notSentRetries: NOT_SENT_RETRIES,
    /** The most requests in flight at the same time. */
    connections: concurrency + batchConcurrency,
  };
}

/** The certificate and the private key of one text. */
const pairIn = (pem: string | undefined) =>
  pem === undefined ? undefined : { tlsCert: pem, tlsKey: pem };

function webhookConfig({ url, secret, format }: ValueTree['events']) {
  return url === undefined || secret === undefined ? undefined : { url, secret, format };
}
