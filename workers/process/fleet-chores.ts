import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { WorkerConfig } from '../../src/config/config.ts';
import { logAudit } from '../../src/ops/chores/audit-log.ts';
import { createChores, type Chore } from '../../src/ops/chores/chores.ts';
import { applyUnknownRules } from '../../src/ops/unknown/apply-rules.ts';
import type { UnknownContext } from '../../src/ops/unknown/select.ts';

/** Intervals in milliseconds. */
const AUDIT_LOG_MS = 10_000;
const UNKNOWN_RULES_MS = 30_000;

/** What one worker of the fleet does at intervals: it logs the audit streams, and applies UNKNOWN_RULES. */
export function createFleetChores(
  context: UnknownContext,
  { unknownRules: rules }: Pick<WorkerConfig, 'unknownRules'>,
  log: Logger,
): BackgroundService {
  const { redis, keys } = context;
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
  return createChores(context, rules.length === 0 ? [auditLog] : [auditLog, unknownRules], log);
}
