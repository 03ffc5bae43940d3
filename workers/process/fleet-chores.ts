import type { Logger } from 'pino';
import type { UnknownRule } from '../../src/contracts/unknown-rule.ts';
import { logAudit } from '../../src/ops/audit-log.ts';
import type { Chore } from '../../src/ops/chores.ts';
import { applyUnknownRules } from '../../src/ops/unknown/apply-rules.ts';
import type { UnknownContext } from '../../src/ops/unknown/select.ts';

/** Intervals in milliseconds. */
const AUDIT_LOG_MS = 10_000;
const UNKNOWN_RULES_MS = 30_000;

/** What one worker of the fleet does at intervals: log the audit stream, and apply UNKNOWN_RULES. */
export function fleetChores({
  rules,
  log,
  ...context
}: UnknownContext & { readonly rules: readonly UnknownRule[]; readonly log: Logger }): Chore[] {
  const auditLog: Chore = {
    name: 'audit-log',
    everyMs: AUDIT_LOG_MS,
    run: (signal) => logAudit(context.redis, context.keys, log, signal),
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
  return rules.length === 0 ? [auditLog] : [auditLog, unknownRules];
}
