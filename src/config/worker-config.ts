import type { Values } from './options.ts';

/** How workers take jobs and what they do when one cannot be sent. */
export interface WorkerConfig {
  readonly concurrency: number;
  /** In contacts; 1 turns coalescing off. */
  readonly coalesceMaxContacts: number;
  readonly batchConcurrency: number;
  readonly processes: number;
  readonly attempts: number;
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  readonly lockDurationMs: number;
  readonly stalledIntervalMs: number;
  readonly holdProbeMinMs: number;
  readonly holdProbeMaxMs: number;
  readonly retryAfterMaxMs: number;
  readonly rateLimit: RateLimitConfig;
  readonly keepAcceptedMs: number;
  readonly keepFailedMs: number;
  readonly shutdownTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly stallGraceMs: number;
  readonly sendDeadlineMs: number;
  readonly health: HealthConfig;
}

/** Where a worker answers who asks how it is. */
export interface HealthConfig {
  /** 0 for nowhere. */
  readonly port: number;
  readonly host: string;
}

/** How fast the account may send; rates are send calls a second. */
export interface RateLimitConfig {
  /** 0 is no limit. */
  readonly limit: number;
  readonly floor: number;
  readonly fallPercent: number;
  readonly recoveryMs: number;
}

/** Reads it from the checked variables. */
export function workerConfig(values: Values): WorkerConfig {
  return {
    concurrency: values.CONCURRENCY,
    coalesceMaxContacts: values.COALESCE_MAX_CONTACTS,
    batchConcurrency: values.BATCH_CONCURRENCY,
    processes: values.PROCESSES,
    attempts: values.ATTEMPTS,
    backoffBaseMs: values.BACKOFF_BASE_MS,
    backoffCapMs: values.BACKOFF_CAP_MS,
    lockDurationMs: values.LOCK_DURATION_MS,
    stalledIntervalMs: values.STALLED_INTERVAL_MS,
    holdProbeMinMs: values.HOLD_PROBE_MIN_MS,
    holdProbeMaxMs: values.HOLD_PROBE_MAX_MS,
    retryAfterMaxMs: values.RETRY_AFTER_MAX_MS,
    rateLimit: {
      limit: values.PACE,
      floor: values.PACE_FLOOR,
      fallPercent: values.PACE_FALL_PERCENT,
      recoveryMs: values.PACE_RECOVERY_MS,
    },
    keepAcceptedMs: values.KEEP_ACCEPTED_MS,
    keepFailedMs: values.KEEP_FAILED_MS,
    shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT_MS,
    heartbeatMs: values.HEARTBEAT_MS,
    stallGraceMs: values.STALL_GRACE_MS,
    sendDeadlineMs: values.SEND_DEADLINE_MS,
    health: { port: values.HEALTH_PORT, host: values.HEALTH_HOST },
  };
}
