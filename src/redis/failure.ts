import { NoticeQueueError } from '../contracts/errors.ts';
import { ScriptFailure } from './script.ts';

/** What a Redis that answers, but refuses, begins its answer with, and what to do about it. */
const REFUSALS: readonly { readonly prefix: string; readonly detail: string }[] = [
  { prefix: 'OOM', detail: 'Redis is out of memory (maxmemory reached).' },
  { prefix: 'READONLY', detail: 'This Redis is a read-only replica.' },
  { prefix: 'MISCONF', detail: 'Redis cannot write its persistence to disk and refuses writes.' },
  { prefix: 'NOREPLICAS', detail: 'Redis has too few replicas in sync to take writes.' },
  { prefix: 'NOAUTH', detail: 'Redis wants a password (REDIS_PASSWORD).' },
  { prefix: 'WRONGPASS', detail: 'Redis refuses the user or the password.' },
  { prefix: 'NOPERM', detail: 'The Redis user lacks a permission.' },
  { prefix: 'BUSY', detail: 'Redis is busy with a script.' },
  { prefix: 'CROSSSLOT', detail: 'The keys do not share a slot of the Redis Cluster.' },
  { prefix: 'WRONGTYPE', detail: 'A key of ours holds something else: the prefix is in use.' },
];

/** One short word for a Redis error, safe to log: never its command or arguments. */
export function redisErrorWord(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  if (error instanceof ScriptFailure) return error.reason;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code;
  const refusal = REFUSALS.find(({ prefix }) => error.message.startsWith(prefix));
  return refusal?.prefix ?? error.name;
}

/**
 * Turns whatever a Redis command threw into an error of ours. The original is dropped: it carries
 * the command's arguments, and those hold contacts.
 */
export function redisFailure(error: unknown): NoticeQueueError {
  if (error instanceof NoticeQueueError) return error;
  const text = error instanceof Error ? error.message : '';
  const refusal = REFUSALS.find(({ prefix }) => text.includes(prefix));
  if (refusal !== undefined) return new NoticeQueueError('QUEUE_REFUSED', refusal.detail);
  return new NoticeQueueError(
    'QUEUE_UNAVAILABLE',
    `Redis did not answer in time (${redisErrorWord(error)}); the notice may or may not have been queued.`,
  );
}
