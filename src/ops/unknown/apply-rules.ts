import type { UnknownRule } from '../../contracts/outcome.ts';
import { readHold } from '../../fleet/hold/current-hold.ts';
import { redisTime } from '../../redis/server-clock.ts';
import type { UnknownFilter } from '../unknown.ts';
import { resolveSelected } from './resolve-selected.ts';
import type { UnknownContext } from './select.ts';

/** Name in the audit stream of a decision by a rule; the reason is the rule as it is written. */
const RULE_ACTOR = 'UNKNOWN_RULES';

/** What a rule decided. */
export interface AppliedRule {
  readonly rule: string;
  /** Notices, or chunks and parts of chunks. */
  readonly resolved: number;
  readonly contacts: number;
}

/**
 * Decides the unknown outcomes that the rules match; the first matching rule decides. What a rule matches and
 * cannot decide now, such as contacts of a paused batch that are to be sent again, is left to people.
 * Nothing is decided while Redis is held as an old copy: what is unknown in it may have been decided since.
 *
 * @param signal stops it; the rest is decided at the next application
 * @returns the rules that decided something
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED, or the error of Redis itself
 */
export async function applyUnknownRules(
  context: UnknownContext,
  rules: readonly UnknownRule[],
  signal?: AbortSignal,
): Promise<AppliedRule[]> {
  const { redis, keys } = context;
  if ((await readHold(redis, keys))?.kind === 'restored') return [];
  const now = await redisTime(redis);
  const filters = rules.map((rule) => filterOf(rule, now));
  const applied: AppliedRule[] = [];
  for (const [index, { text, as }] of rules.entries()) {
    const filter = { ...filters[index], except: filters.slice(0, index) };
    const decision = { as, who: RULE_ACTOR, why: text };
    const { resolved, contacts } = await resolveSelected(context, filter, decision, signal);
    if (resolved > 0) applied.push({ rule: text, resolved, contacts });
  }
  return applied;
}

function filterOf({ as, code, template, olderThanMs }: UnknownRule, now: number): UnknownFilter {
  const before = olderThanMs === undefined ? undefined : Math.floor(now) - olderThanMs;
  return { code, template, before, ...(as === 'resend' ? { sentAgain: false } : {}) };
}
