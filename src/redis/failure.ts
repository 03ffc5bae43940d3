import { NoticeQueueError } from '../contracts/errors.ts';

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

/** What may be logged of an error of Redis: nothing of the command and its arguments. */
interface RedisErrorFields {
  /** Of Redis (`OOM`, `NOPERM`, ...) or of the connection (`ECONNRESET`), else the name of the error. */
  readonly code: string;
  /** The first words of the reply, where its code says too little. */
  readonly reply?: string;
  /** The permission that the Redis user lacks. */
  readonly missing?: string;
}

/**
 * A script that Redis did not answer, or answered with an error. The client's own errors contain every argument; this one
 * has what may be logged of them. Internal to the package; callers translate it with {@link redisFailure}.
 */
export class ScriptFailure extends Error {
  override readonly name = 'ScriptFailure';
  readonly fields: RedisErrorFields;
  /** A mistake in this program, which a repetition would repeat. */
  readonly isMistake: boolean;

  constructor(script: string, fields: RedisErrorFields, mistake = false) {
    const { code, reply, missing = reply } = fields;
    super(`Redis script ${script} failed: ${code}${missing === undefined ? '' : ` (${missing})`}`);
    this.fields = fields;
    this.isMistake = mistake;
  }
}

/** What may be logged of any error of Redis. */
export function redisErrorFields(error: unknown): RedisErrorFields {
  if (error instanceof ScriptFailure) return error.fields;
  if (!(error instanceof Error)) return { code: 'unknown error' };
  const { code: ofConnection } = error as { code?: unknown };
  if (typeof ofConnection === 'string') return { code: ofConnection };
  const ofReply = replyCode(error);
  if (ofReply === 'NOPERM') return { code: ofReply, missing: missingPermission(error) };
  const refusal = PREFIXES.find((prefix) => error.message.startsWith(prefix));
  const code = refusal ?? ofReply ?? error.name;
  const reply = PREFIXES.includes(code) ? undefined : replyWords(error);
  return { code, ...(reply === undefined ? {} : { reply }) };
}

export const redisErrorCode = (error: unknown): string => redisErrorFields(error).code;

/**
 * The code of an error reply of Redis (`OOM`, `READONLY`, ...); undefined for any other error. Redis 6
 * wraps the code of a command that failed inside a script: `ERR Error running script ...: -OOM ...`, and each
 * version words a missing permission inside a script in its own way.
 */
export function replyCode(error: unknown): string | undefined {
  if (!isReply(error)) return undefined;
  if (PERMISSION_REFUSED.test(error.message)) return 'NOPERM';
  return (/^ERR .*: -([A-Z]{3,})\b/.exec(error.message) ?? /^([A-Z]+)\b/.exec(error.message))?.[1];
}

const isReply = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'ReplyError';

/** What Redis says when the user lacks a permission, also for a command inside a script; the words differ by version. */
const PERMISSION_REFUSED =
  /^(?:NOPERM|ERR .*(?:ACL failure in script|The user executing the script can't))/;

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

/** Errors that JavaScript throws for a mistake. */
const JAVASCRIPT_ERRORS: ReadonlySet<string> = new Set([
  'TypeError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
]);

/** Where Redis puts the words of an error inside a script; the second form is that of Redis 6. */
const IN_A_SCRIPT = /^ERR (?:Error running script[^:]*: )?(?:@user_script: ?\d+: )*(?:ERR )?/;

/** Words of Redis about a command or a script that is wrong at any time and from any connection. */
const MISTAKES =
  /^(?:user_script:\d+: |Error compiling script|Script attempted to access|wrong number of arg|unknown (?:redis )?(?:sub)?command\b|syntax error|(?:hash )?value is not (?:an integer|a valid float)|(?:min or max|weight value|score) is not)/i;

/**
 * Whether an error is a mistake in this program, which a repetition would repeat: one that JavaScript itself throws, or
 * a reply that is known to be about the command or the script. Any other reply may be over at the next try, `ERR` too:
 * a gateway in front of Redis says so that a quota is spent or that a server is away, and Redis that a script was killed.
 */
export function isProgramError(error: unknown): boolean {
  if (error instanceof ScriptFailure) return error.isMistake;
  if (!(error instanceof Error)) return false;
  if (error.name !== 'ReplyError') return JAVASCRIPT_ERRORS.has(error.name);
  if (!error.message.startsWith('ERR') || replyCode(error) !== 'ERR') return false;
  return MISTAKES.test(error.message.replace(IN_A_SCRIPT, ''));
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
  const { code, reply, missing } = redisErrorFields(error);
  if (missing !== undefined) {
    const detail = `The Redis user lacks a permission: ${missing} (docs/redis.md).`;
    return new NoticeQueueError('QUEUE_REFUSED', detail);
  }
  const refusal = PREFIXES.find((prefix) => text.includes(prefix)) ?? '';
  const [passing, lasting] = [PASSING[refusal], LASTING[refusal]];
  if (passing !== undefined) return new WriteRefused(passing);
  if (lasting !== undefined) return new NoticeQueueError('QUEUE_REFUSED', lasting);
  // A gateway that answers for a server cannot tell what the server did.
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

/** Words that may be shown of a reply. All others may be a key, a number or a value. */
const KNOWN_WORDS: ReadonlySet<string> = new Set(
  `a access account allowed an and at away backend be being busy by can cannot closed cluster command commands
  compiling connection connections count could credentials daily database denied disabled down error exceeded expired
  failed failure for full gateway has host in instance internal invalid is it kill killed lag later limit limited load
  lost maintenance many master max maximum memory monthly no node not of on out over overloaded per permission plan please
  proxy quota rate reached read readonly refused reject rejected replica request requests reset retry route running
  script server servers shutting size slow source subscription supported suspended temporarily the this throttled time
  timed timeout to too try unavailable unexpected unknown upstream usage used user was while with write writes
  wrong`.split(/\s+/),
);

const MAX_WORDS = 12;

/** The first words of an error reply, safe to log; undefined for any other error, or where none is known. */
function replyWords(error: Error): string | undefined {
  if (!isReply(error)) return undefined;
  const words = error.message
    .slice(0, 300)
    .replace(/^[A-Z]+\b:? ?/, '')
    .split(/\s+/)
    .slice(0, MAX_WORDS)
    .map((word) => word.replace(/[.,:;!']+$/, ''))
    .filter((word) => word !== '')
    .map((word) => (KNOWN_WORDS.has(word.toLowerCase()) ? word : '...'));
  const shown = words.join(' ').replace(/\.\.\.(?: \.\.\.)+/g, '...');
  return shown === '' || shown === '...' ? undefined : shown;
}

/**
 * Which permission a refused command lacks, in words: the command or the pattern of its keys, as an ACL
 * names them. Never a value, and of a key only its beginning, which is the same for all keys of a kind.
 */
function missingPermission(error: Error): string {
  const { message } = error;
  const command = /run the '([\w|-]{1,64})' command/.exec(message)?.[1];
  if (command !== undefined) return `the command ${command}`;
  const patterns = patternsOf(keysOfCommand(error));
  if (/\bchannels?\b/.test(message)) return withPatterns('a channel', patterns);
  if (/\bkeys?\b/.test(message)) return withPatterns('a key', patterns);
  return withPatterns('a command inside a script', patterns, 'on');
}

function withPatterns(what: string, patterns: readonly string[], link = 'of'): string {
  return patterns.length === 0 ? what : `${what} ${link} ${patterns.join(', ')}`;
}

/** `{prefix:account}:send:17:lock` becomes `{prefix:account}:send:*`. */
function patternsOf(keys: readonly string[]): string[] {
  const found = keys.map((key) => /^(\{[\w.:-]{1,128}\}:[a-z-]{1,32})(:|$)/.exec(key));
  const patterns = found.map(
    (match) => match && `${match[1] ?? ''}${match[2] === ':' ? ':*' : ''}`,
  );
  return [...new Set(patterns.filter((pattern) => pattern !== null))].sort();
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
