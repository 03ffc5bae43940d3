import { NoticeQueueError } from '../contracts/errors.ts';
import { isMistake, missingPermission, replyCode, replyWords } from './reply.ts';
import { ScriptFailure } from './script.ts';

/** Beginnings of replies with which Redis refuses a command. Nothing was executed. */
type Refusals = Readonly<Record<string, string>>;

/** They may end without a change of settings: in a failover, when a queue is emptied. */
const PASSING: Refusals = {
  OOM: 'Redis is out of memory (maxmemory reached).',
  READONLY: 'This Redis is a read-only replica.',
  MISCONF: 'Redis cannot write its persistence to disk and refuses writes.',
  NOREPLICAS: 'Redis has too few replicas in sync to take writes.',
  LOADING: 'Redis is still reading its data after its start.',
  MASTERDOWN: 'This Redis is a replica that has lost its master.',
  BUSY: 'Redis is busy with a script.',
  UNBLOCKED: 'Redis ended the wait for an event, as in a failover.',
};

/** A person has to change something: a permission, a password, a key that another program uses. */
const LASTING: Refusals = {
  NOAUTH: 'Redis requires a password (REDIS_PASSWORD).',
  WRONGPASS: 'Redis refuses the user or the password.',
  NOPERM: 'The Redis user lacks a permission.',
  WRONGTYPE: 'A key has another type than expected: another program uses the prefix.',
};

const PREFIXES = [...Object.keys(PASSING), ...Object.keys(LASTING)];

/** QUEUE_REFUSED, for a reason that may pass by itself: Redis executed nothing, and may take the same later. */
export class WriteRefused extends NoticeQueueError {
  constructor(detail: string) {
    super('QUEUE_REFUSED', detail);
  }
}

/** The code of a Redis error, safe to log: without the command and its arguments. */
export function redisErrorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  if (error instanceof ScriptFailure) return error.reason;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code;
  const refusal = PREFIXES.find((prefix) => error.message.startsWith(prefix));
  return refusal ?? replyCode(error) ?? error.name;
}

/** The permission that the Redis user lacks, safe to log; undefined for any other error. */
export function missingPermissionOf(error: unknown): string | undefined {
  if (error instanceof ScriptFailure) return error.missing;
  if (!(error instanceof Error) || replyCode(error) !== 'NOPERM') return undefined;
  return missingPermission(error.message, keysOfCommand(error));
}

/** What Redis answered where its code says too little, in words that are safe to log. */
function replyOf(error: unknown): string | undefined {
  const code = redisErrorCode(error);
  if (PREFIXES.includes(code)) return undefined;
  return error instanceof ScriptFailure ? error.reply : replyWords(error);
}

/** What a log line says of a Redis error: its code, the words of the reply, and the permission that is missing. */
export function redisErrorFields(error: unknown): {
  code: string;
  reply?: string;
  missing?: string;
} {
  const missing = missingPermissionOf(error);
  const reply = replyOf(error);
  return {
    code: redisErrorCode(error),
    ...(reply === undefined ? {} : { reply }),
    ...(missing === undefined ? {} : { missing }),
  };
}

/** The keys of the command that an error of the client is about, as far as they are easy to find. */
function keysOfCommand(error: Error): string[] {
  const { command } = error as { command?: { name?: unknown; args?: unknown } };
  if (!Array.isArray(command?.args)) return [];
  const args: readonly unknown[] = command.args;
  const keys = /^(?:eval|evalsha)$/i.test(String(command.name))
    ? args.slice(2, 2 + Number(args[1]))
    : args.slice(0, 1);
  return keys.filter((key) => typeof key === 'string');
}

/** The client's errors for a command that had no connection, or lost it; Redis' own errors are others. */
const CONNECTION_LOST =
  /^(?:Connection is closed|Command aborted due to connection close|Reached the max retries|Stream isn't writeable|connect |read |write )/;

/**
 * Whether a command failed for want of a connection. It may have been executed: the reply may be lost.
 */
export function isConnectionLost(error: unknown): boolean {
  return (
    error instanceof Error && error.name !== 'ReplyError' && CONNECTION_LOST.test(error.message)
  );
}

/** Whether an error is a mistake in this program (reply.ts): the only kind that is not worth another try. */
export function isProgramError(error: unknown): boolean {
  return error instanceof ScriptFailure ? error.isMistake : isMistake(error);
}

/** Whether Redis refuses a command until a person changes something. */
export function isRefusedLastingly(error: unknown): boolean {
  return Object.hasOwn(LASTING, redisErrorCode(error));
}

/**
 * Translates any error of a Redis command. The original error is dropped, because it contains the
 * command's arguments and therefore contacts.
 *
 * @throws the error itself, where it is a program error of a script or of JavaScript: it contains no
 *   arguments
 */
export function redisFailure(error: unknown): NoticeQueueError {
  if (error instanceof NoticeQueueError) return error;
  if (replyCode(error) === undefined && isProgramError(error)) throw error;
  const text = error instanceof Error ? error.message : '';
  const missing = missingPermissionOf(error);
  if (missing !== undefined) {
    const detail = `The Redis user lacks a permission: ${missing} (docs/redis.md).`;
    return new NoticeQueueError('QUEUE_REFUSED', detail);
  }
  const refusal = PREFIXES.find((prefix) => text.includes(prefix)) ?? '';
  const [passing, lasting] = [PASSING[refusal], LASTING[refusal]];
  if (passing !== undefined) return new WriteRefused(passing);
  if (lasting !== undefined) return new NoticeQueueError('QUEUE_REFUSED', lasting);
  // A gateway that answers for a server cannot tell what the server did.
  const reply = replyOf(error);
  const code = redisErrorCode(error);
  const what =
    reply === undefined ? `did not answer in time (${code})` : `answered: ${code} ${reply}`;
  return new NoticeQueueError(
    'QUEUE_UNAVAILABLE',
    `Redis ${what}; the notice may or may not have been queued.`,
  );
}

/** What a command or script resolves to; its failure is one of this package. */
export async function translated<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw redisFailure(error);
  }
}
