import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';

/** Kinds of what people do by hand. */
export const AUDITED = ['hold', 'pace', 'resolve', 'park', 'batch', 'redrive', 'download'] as const;

/** Name of a kind. */
export type Audited = (typeof AUDITED)[number];

/** What a person did by hand. */
export interface AuditEntry {
  readonly who: string;
  readonly what: Audited;
  /** `queue`, a job id, `batch <id>`, or `restored notices`. */
  readonly target: string;
  /**
   * What was decided: `placed`, `lifted <kind>`; a pace (`50`, `off`, `default`); `accepted`,
   * `resend`, `discard`; `unknown` of what was parked; `paused`, `resumed`, `cancelled`; the state,
   * and the code where one was meant, of what was redriven or downloaded.
   */
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

function keptAudit(id: string, fields: readonly string[]): KeptAudit {
  const of = new Map<string, string>();
  for (let index = 0; index < fields.length; index += 2) {
    of.set(fields[index] ?? '', fields[index + 1] ?? '');
  }
  const contacts = of.get('contacts');
  return {
    at: Number.parseInt(id, 10),
    who: of.get('who') ?? '',
    what: AUDITED.find((one) => one === of.get('what')) ?? 'resolve',
    target: of.get('target') ?? '',
    as: of.get('as') ?? '',
    why: of.get('why') ?? '',
    ...(contacts === undefined ? {} : { contacts: Number(contacts) }),
  };
}
