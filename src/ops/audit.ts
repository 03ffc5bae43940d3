import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import { DONE_MS, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { recordOf } from '../redis/stored-json.ts';
import { count, named, time } from '../contracts/answer.ts';
import { maskNumber } from './mask-contact.ts';

const AUDITED = [
  'hold',
  'rate-limit',
  'decide',
  'park',
  'batch',
  'download',
  'cancel',
  'search',
  'import',
  'send',
  'erase',
  'session',
  'events',
  'suppress',
] as const;

/** Who does something manually, and why. */
export interface Actor {
  /** Name of the user or the API key. */
  readonly who: string;
  /** Reason in free text; may be empty. */
  readonly why: string;
}

/** An entry of the audit stream: one manual action, or a decision of a rule. */
export const auditEntry = named(
  'AuditEntry',
  z.object({
    at: time,
    who: z.string(),
    what: z.enum(AUDITED),
    target: z
      .string()
      .describe('such as queue, an id, the name of a user, `batch <id>` or `number <masked>`'),
    as: z
      .string()
      .describe('what was decided, such as placed, accepted or paused; of a rate limit its value'),
    why: z.string(),
    contacts: count.exactOptional().describe('absent where it does not concern contacts'),
  }),
);

/** An entry as it is stored. */
export type KeptAudit = z.output<typeof auditEntry>;

/** What is recorded of an action. */
export type AuditEntry = Readonly<Omit<KeptAudit, 'at' | keyof Actor>>;

/** The account whose audit stream is meant. */
interface AuditedAccount {
  readonly redis: RedisClient;
  readonly keys: Pick<Keys, 'audit' | 'auditReads' | 'done'>;
}

/** How long entries are kept, in milliseconds; Redis may keep a few longer. */
const KEPT_MS = 90 * 24 * 3_600_000;

/** The most entries of each stream: some 100 MB with short reasons. Only a flood reaches it. */
const MOST = 1_000_000;

/** Kinds that change nothing. They are kept apart, so that many of them displace no change. */
const READS: ReadonlySet<AuditEntry['what']> = new Set(['search', 'download']);

/**
 * Appends an entry, once also when it is repeated. KEYS: the stream, the mark. ARGV: the most entries, then the
 * fields of the entry. Begins with a removal, so that a Redis that is out of memory takes it.
 */
const append = defineScript({
  name: 'audit',
  lua: `
  redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[1])
  if not redis.call('SET', KEYS[2], 1, 'NX', 'PX', ${DONE_MS}) then return end
  redis.call('XADD', KEYS[1], 'MINID', '~', clock() - ${KEPT_MS}, '*', unpack(ARGV, 2))`,
});

/** What may be a phone number in a reason that a person typed: digits of any script, with any separators. */
const NUMBER = /\p{Nd}(?:[^\p{L}\p{Nd}]{0,3}\p{Nd}){6,}/gu;

/** A reason without what may be a phone number, for those who may not see numbers. */
export function withoutNumbers(why: string): string {
  return why.replace(NUMBER, '[number]');
}

export async function appendAudit(
  { redis, keys }: AuditedAccount,
  { who, why }: Actor,
  { what, target, as, contacts }: AuditEntry,
): Promise<void> {
  const fields = ['who', who, 'what', what, 'target', target, 'as', as, 'why', why];
  if (contacts !== undefined) fields.push('contacts', String(contacts));
  const stream = READS.has(what) ? keys.auditReads : keys.audit;
  await translated(append(redis, [stream, keys.done(randomUUID())], [MOST, ...fields]));
}

/** Records a search for a phone number, given as its digits; it is masked. */
export async function auditSearch(
  account: AuditedAccount,
  actor: Actor,
  number: string,
): Promise<void> {
  const target = `number ${maskNumber(number)}`;
  await appendAudit(account, actor, { what: 'search', target, as: 'searched' });
}

/** Reads the latest entries, newest first. @param role only operators see digits that may be a phone number in reasons */
export async function readAudit(
  redis: RedisClient,
  keys: Pick<Keys, 'audit' | 'auditReads'>,
  limit: number,
  role = 'operator',
): Promise<KeptAudit[]> {
  const found = await Promise.all(
    [keys.audit, keys.auditReads].map((stream) =>
      translated(redis.xrevrange(stream, '+', '-', 'COUNT', limit)),
    ),
  );
  return found
    .flat()
    .map(([id, fields]) => keptAudit(id, fields, role))
    .sort((a, b) => b.at - a.at)
    .slice(0, limit);
}

/** Newest changes among which the pauses of lists are looked for. */
const PAUSES_READ = 500;

/** Who paused a list, when and why. */
export const pause = auditEntry.pick({ at: true, who: true, why: true });

/** Adds to lists that are paused who did it, where that is not too long ago. @param role as for {@link readAudit} */
export async function withPauses<One extends { readonly id: string; readonly phase: string }>(
  { redis, keys }: { readonly redis: RedisClient; readonly keys: Pick<Keys, 'audit'> },
  batches: readonly One[],
  role = '',
): Promise<(One & { paused?: z.output<typeof pause> })[]> {
  if (batches.every(({ phase }) => phase !== 'paused')) return [...batches];
  const read = await translated(redis.xrevrange(keys.audit, '+', '-', 'COUNT', PAUSES_READ));
  const changes = read.map(([id, fields]) => keptAudit(id, fields, role));
  return batches.map((one) => {
    const found = changes.find(
      ({ what, target, as }) => what === 'batch' && target === `batch ${one.id}` && as === 'paused',
    );
    if (one.phase !== 'paused' || found === undefined) return one;
    const { at, who, why } = found;
    return { ...one, paused: { at, who, why } };
  });
}

function keptAudit(id: string, fields: readonly string[], role: string): KeptAudit {
  const { who = '', what, target = '', as = '', why = '', contacts } = recordOf(fields);
  return {
    at: Number.parseInt(id, 10),
    who,
    what: AUDITED.find((kind) => kind === what) ?? 'decide',
    target,
    as,
    why: role === 'operator' ? why : withoutNumbers(why),
    ...(contacts === undefined ? {} : { contacts: Number(contacts) }),
  };
}
