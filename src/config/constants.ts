import type { Environment } from './environment.ts';

/**
 * Values that no installation has to choose, by the names under which the documents speak of them.
 *
 * @param answerTimeoutMs ANSWER_TIMEOUT_MS, from which the longer times follow
 */
const defaultsFor = (answerTimeoutMs: number) => ({
  /** One connection attempt to the service, TLS included. */
  CONNECT_TIMEOUT_MS: 3_000,
  /** Issuing a token, retries included. */
  ISSUE_DEADLINE_MS: Math.max(10_000, answerTimeoutMs),
  /** A whole attempt: waiting for a token, and both requests. One issuance fits into it. */
  SEND_DEADLINE_MS: Math.max(15_000, 3 * answerTimeoutMs),
  /** After a process crashed while issuing, another one may issue once it has passed. No issuance outlasts it. */
  TOKEN_LOCK_TTL_MS: Math.ceil(1.5 * Math.max(10_000, answerTimeoutMs)),
  /** How long a worker keeps the lock of a job without renewing it: no job is taken from one that still sends it. */
  LOCK_DURATION_MS: Math.max(60_000, 9 * answerTimeoutMs),
  /** How long a stopping worker may take to finish the requests in flight. */
  SHUTDOWN_TIMEOUT_MS: 10_000 + Math.max(15_000, 3 * answerTimeoutMs),
  /** Between heartbeats of a worker: after three missed ones it counts as gone. */
  HEARTBEAT_MS: 3_000,
  REDIS_CONNECT_TIMEOUT_MS: 2_000,
  /** Workers warn when less of the memory limit of Redis is free, in percent. */
  REDIS_MEMORY_HEADROOM: 10,
  ENQUEUE_TIMEOUT_MS: 2_000,
  /** Upper bounds of the random delay before the second attempt, and between any two. */
  BACKOFF_BASE_MS: 1_000,
  BACKOFF_CAP_MS: 300_000,
  /** The first probe of a hold; each further one comes twice as late, up to the last. */
  HOLD_PROBE_MIN_MS: 2_000,
  HOLD_PROBE_MAX_MS: 60_000,
  /** The longest pause that a Retry-After of the service can cause. */
  RETRY_AFTER_MAX_MS: 3_600_000,
  /** Time in which a rate limit that a 429 decreased would recover from zero. */
  RATE_LIMIT_RECOVERY_MS: 120_000,
  /** A Redis that lost at most this much time only causes a warning: a failover loses about a second. */
  RESTORE_TOLERANCE_MS: 2_000,
  /** Without other evidence a Redis that restarted this long after the last heartbeat may hold an old copy. */
  RESTORE_GAP_MS: 60_000,
  /** A token younger than this that gets a 401 is tried once more; ten times this, after a 403. */
  TOKEN_GRACE_MS: 1_000,
  /** Most issuances of the fleet in the window: tokens may live four seconds. */
  TOKEN_BUDGET: 200,
  TOKEN_BUDGET_WINDOW_MS: 600_000,
  /** How long before its expiry a token is renewed; at most half of its lifetime. */
  TOKEN_RENEW_BEFORE_MS: 60_000,
  OPS_SESSION_MS: 43_200_000,
  /** Of `POST /api/v1/notices`. */
  OPS_MAX_BODY_BYTES: 4_194_304,
  /** Requests of one API key. */
  OPS_NOTICES_PER_MINUTE: 6_000,
});

/** The constants by name. */
export type Constants = ReturnType<typeof defaultsFor>;

/** In an environment: JSON with other values, for tests of processes. No part of the interface. */
export const CONSTANTS_OF_TESTS = 'NOTICES_TEST_CONSTANTS';

/** The constants that hold in an environment. */
export function constantsIn(environment: Environment, answerTimeoutMs: number): Constants {
  const given = environment[CONSTANTS_OF_TESTS] ?? '{}';
  return { ...defaultsFor(answerTimeoutMs), ...(JSON.parse(given) as Partial<Constants>) };
}
