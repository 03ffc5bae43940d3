import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { WorkerConfig } from '../../src/config/config.ts';
import { logAudit } from '../../src/ops/chores/audit-log.ts';
import { trimEvents } from '../../src/events/event.ts';
import { createChores, type Chore } from '../../src/ops/chores/chores.ts';
import { deleteEnded } from '../../src/ops/chores/delete-ended.ts';
import { applyUnknownRules } from '../../src/ops/unknown/apply-rules.ts';
import type { UnknownContext } from '../../src/ops/unknown/select.ts';

/** Intervals in milliseconds. */
const AUDIT_LOG_MS = 10_000;
const UNKNOWN_RULES_MS = 30_000;
const DELETE_ENDED_MS = 480_000;
const TRIM_EVENTS_MS = 10_000;

/**
 * What one worker of the fleet does at intervals: it logs the audit streams, applies UNKNOWN_RULES, and deletes ended
 * jobs whose time is over, and the oldest events.
 */
export function createFleetChores(
  context: UnknownContext,
  config: Pick<WorkerConfig, 'unknownRules' | 'keepAcceptedMs' | 'keepFailedMs' | 'noticeEvents'>,
  log: Logger,
): BackgroundService {
  const { redis, keys } = context;
  const { unknownRules: rules } = config;
  const auditLog: Chore = {
    name: 'audit-log',
    everyMs: AUDIT_LOG_MS,
    run: (signal) => logAudit(redis, keys, log, signal),
  };
  const unknownRules: Chore = {
    name: 'unknown-rules',
    everyMs: UNKNOWN_RULES_MS,
    run: async (signal) => {
      for (const applied of await applyUnknownRules(context, rules, signal)) {
        log.info({ event: 'unknown-rule', ...applied });
      }
    },
  };
  const retention: Chore = {
    name: 'delete-ended',
    everyMs: DELETE_ENDED_MS,
    run: (signal) => deleteEnded(redis, keys, config, signal),
  };
  const events: Chore = {
    name: 'trim-events',
    everyMs: TRIM_EVENTS_MS,
    run: () => trimEvents(redis, keys, config.noticeEvents),
  };
  const chores = [auditLog, retention, events];
  return createChores(context, rules.length === 0 ? chores : [...chores, unknownRules], log);
}
