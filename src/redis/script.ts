import { createHash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { isPermissionRefusal, missingPermission } from './permission.ts';

/** A client for commands. */
export type ScriptClient = Redis | Cluster;

/**
 * Functions at the start of every script: Redis time in milliseconds since the epoch, as a whole
 * number and with its fraction. Redis runs a script at one moment, so repeated calls agree.
 */
const PRELUDE = `
local function exactClock()
  local time = redis.call('TIME')
  return time[1] * 1000 + time[2] / 1000
end
local function clock() return math.floor(exactClock()) end
`;

/** One Lua script. Redis runs it as a whole, with no other command in between. */
interface ScriptDefinition {
  /** Names the script in errors. */
  readonly name: string;
  /** How many keys it takes. On a cluster they must share one hash tag. */
  readonly keys: number;
  /** The body; `clock()` and `exactClock()` are defined in front of it. */
  readonly lua: string;
  /** Whether texts in the reply are bytes (Buffers) instead of strings. Default false. */
  readonly binary?: boolean;
  /**
   * Whether it has to be run before the commands that are sent after it: its text is sent each time, since a server that
   * does not have it would take a second round trip. Default false.
   */
  readonly inOrder?: boolean;
}

/** Runs the script. Rejects with a {@link ScriptFailure}. */
export type Script<Reply> = (
  redis: ScriptClient,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
) => Promise<Reply>;

/**
 * A script that Redis did not answer, or answered with an error. It contains the error code and nothing
 * of the command: the client's own errors contain every argument. Internal to the package; callers
 * translate it with redisFailure.
 */
export class ScriptFailure extends Error {
  override readonly name = 'ScriptFailure';
  /** The error code of Redis (`OOM`, `READONLY`, `NOPERM`, ...), else the name of the client's error. */
  readonly reason: string;
  /** The permission that the Redis user lacks; undefined for any other reason. */
  readonly missing: string | undefined;

  constructor(script: string, reason: string, missing?: string) {
    super(
      `Redis script ${script} failed: ${reason}${missing === undefined ? '' : ` (${missing})`}`,
    );
    this.reason = reason;
    this.missing = missing;
  }
}

/**
 * Defines a script. It is called by its hash; the text is sent only to a server that does not have it yet
 * (after a restart or failover, or on another node of a Cluster), or where it has to be run `inOrder`.
 */
export function defineScript(definition: ScriptDefinition): Script<unknown>;
export function defineScript<Reply>(
  definition: ScriptDefinition & { readonly parse: (reply: unknown) => Reply },
): Script<Reply>;
export function defineScript({
  name,
  keys: count,
  lua: body,
  binary = false,
  inOrder = false,
  parse = (reply) => reply,
}: ScriptDefinition & { readonly parse?: (reply: unknown) => unknown }): Script<unknown> {
  const lua = `${PRELUDE}${body}`;
  const sha = createHash('sha1').update(lua).digest('hex');
  return async (redis, keys, args) => {
    if (keys.length !== count) throw new ScriptFailure(name, `takes ${count} keys`);
    const withText = () =>
      binary
        ? redis.callBuffer('EVAL', lua, count, ...keys, ...args)
        : redis.eval(lua, count, ...keys, ...args);
    const withHash = () =>
      binary
        ? redis.callBuffer('EVALSHA', sha, count, ...keys, ...args)
        : redis.evalsha(sha, count, ...keys, ...args);
    let reply: unknown;
    try {
      reply = await (inOrder ? withText() : withHash());
    } catch (error) {
      if (reasonOf(error) !== 'NOSCRIPT') throw failureOf(name, error, keys);
      try {
        reply = await withText();
      } catch (again) {
        throw failureOf(name, again, keys);
      }
    }
    return parse(reply);
  };
}

function failureOf(script: string, error: unknown, keys: readonly string[]): ScriptFailure {
  const reason = reasonOf(error);
  if (reason !== 'NOPERM' || !(error instanceof Error)) return new ScriptFailure(script, reason);
  return new ScriptFailure(script, reason, missingPermission(error.message, keys));
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return replyCode(error) ?? error.name;
}

/**
 * The code of an error reply of Redis (`OOM`, `READONLY`, ...); undefined for any other error. Redis 6
 * wraps the code of a command that failed inside a script: `ERR Error running script ...: -OOM ...`, and each
 * version words a missing permission inside a script in its own way.
 */
export function replyCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return undefined;
  if (isPermissionRefusal(error.message)) return 'NOPERM';
  return (/^ERR .*: -([A-Z]{3,})\b/.exec(error.message) ?? /^([A-Z]+)/.exec(error.message))?.[1];
}
