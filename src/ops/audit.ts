import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';

/** What a person did by hand. */
export interface AuditEntry {
  readonly who: string;
  readonly what: 'hold' | 'resolve' | 'park';
  /** `queue`, a job id, `batch <id>`, or `restored notices`. */
  readonly target: string;
  /** What was decided: `placed`, `lifted <kind>`, `accepted`, `resend`, `discard`, `unknown`. */
  readonly as: string;
  /** In the person's own words; may be empty. */
  readonly why: string;
  /** How many contacts it concerned, where it concerned some. */
  readonly contacts?: number;
}

/** An entry with its time, in milliseconds since the epoch. */
export interface KeptAudit extends AuditEntry {
  readonly at: number;
}

/** So many entries are kept, or a few more. */
const KEPT = 10_000;

/** @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED */
export async function appendAudit(
  redis: RedisClient,
  keys: Pick<Keys, 'audit'>,
  { who, what, target, as, why, contacts }: AuditEntry,
): Promise<void> {
  const fields = ['who', who, 'what', what, 'target', target, 'as', as, 'why', why];
  if (contacts !== undefined) fields.push('contacts', String(contacts));
  try {
    await redis.xadd(keys.audit, 'MAXLEN', '~', KEPT, '*', ...fields);
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * The last entries, the newest first.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readAudit(
  redis: RedisClient,
  keys: Pick<Keys, 'audit'>,
  limit: number,
): Promise<KeptAudit[]> {
  try {
    const entries = await redis.xrevrange(keys.audit, '+', '-', 'COUNT', limit);
    return entries.map(([id, fields]) => keptAudit(id, fields));
  } catch (error) {
    throw redisFailure(error);
  }
}

function whatOf(kept: string | undefined): AuditEntry['what'] {
  return kept === 'hold' || kept === 'park' ? kept : 'resolve';
}

function keptAudit(id: string, fields: readonly string[]): KeptAudit {
  const of = new Map<string, string>();
  for (let index = 0; index < fields.length; index += 2) {
    of.set(fields[index] ?? '', fields[index + 1] ?? '');
  }
  const contacts = of.get('contacts');
  return {
    at: Number.parseInt(id, 10),
    who: of.get('who') ?? '',
    what: whatOf(of.get('what')),
    target: of.get('target') ?? '',
    as: of.get('as') ?? '',
    why: of.get('why') ?? '',
    ...(contacts === undefined ? {} : { contacts: Number(contacts) }),
  };
}
