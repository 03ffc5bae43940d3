import { randomUUID } from 'node:crypto';
import { checkNumber } from '../batch/source/check-number.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { maskNumber } from './mask-contact.ts';

/** Kinds of manual actions. */
export const AUDITED = [
  'hold',
  'rate-limit',
  'resolve',
  'park',
  'batch',
  'redrive',
  'download',
  'cancel',
  'delete',
  'search',
] as const;

/** Kind of a manual action. */
export type Audited = (typeof AUDITED)[number];

/** Who does something manually, and why. */
export interface Actor {
  /** Name of the user or the API key. */
  readonly who: string;
  /** Reason in free text; may be empty. */
  readonly why: string;
}

/** One manual action. */
export interface AuditEntry extends Actor {
  readonly what: Audited;
  /**
   * `queue`, the id of a notice or job, `batch <id>`, `single notices`, `restored notices`, or `number
   * <masked>`.
   */
  readonly target: string;
  /**
   * The decision, by kind: `placed` or `lifted <kind>`; a rate limit (`50`, `off`, `default`);
   * `accepted`, `resend` or `discard`; `unknown` for parked notices; `paused`, `resumed` or
   * `cancelled`, which a notice can be, too; `searched`; the state, and the code if one was selected, of what was
   * redriven or downloaded.
   */
  readonly as: string;
  /** Number of contacts; absent where the action does not concern contacts. */
  readonly contacts?: number;
}

/** An entry as it is stored. */
export interface KeptAudit extends AuditEntry {
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
}

/** Entries that are kept; Redis may keep a few more. */
const KEPT = 10_000;

/** Kinds that are stored under another name, so that older versions can still read new entries. */
const STORED_AS: Partial<Record<Audited, string>> = { 'rate-limit': 'pace' };

/** How long an entry that is written is remembered: longer than a connection takes to be reopened. */
const DONE_MS = 30_000;

/** Appends an entry, once also when it is repeated. KEYS: the stream, the mark. ARGV: the entry. */
const append = defineScript({
  name: 'audit',
  keys: 2,
  lua: `
  if not redis.call('SET', KEYS[2], 1, 'NX', 'PX', ${DONE_MS}) then return end
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ${KEPT}, '*', unpack(ARGV))`,
});

/** @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED */
export async function appendAudit(
  redis: RedisClient,
  keys: Pick<Keys, 'audit' | 'done'>,
  { who, what, target, as, why, contacts }: AuditEntry,
): Promise<void> {
  const stored = STORED_AS[what] ?? what;
  const fields = ['who', who, 'what', stored, 'target', target, 'as', as, 'why', why];
  if (contacts !== undefined) fields.push('contacts', String(contacts));
  try {
    await append(redis, [keys.audit, keys.done(randomUUID())], fields);
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Records a search for a phone number, which is masked.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function auditSearch(
  redis: RedisClient,
  keys: Pick<Keys, 'audit' | 'done'>,
  actor: Actor,
  number: string,
): Promise<void> {
  const checked = checkNumber(number);
  if (checked.kind === 'refused') return;
  const target = `number ${maskNumber(checked.number)}`;
  await appendAudit(redis, keys, { ...actor, what: 'search', target, as: 'searched' });
}

/**
 * Reads the latest entries, newest first.
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
  const stored = of.get('what');
  const contacts = of.get('contacts');
  return {
    at: Number.parseInt(id, 10),
    who: of.get('who') ?? '',
    what: AUDITED.find((kind) => (STORED_AS[kind] ?? kind) === stored) ?? 'resolve',
    target: of.get('target') ?? '',
    as: of.get('as') ?? '',
    why: of.get('why') ?? '',
    ...(contacts === undefined ? {} : { contacts: Number(contacts) }),
  };
}
