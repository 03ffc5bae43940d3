import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { isProgramError, redisErrorFields, replyCode, ScriptFailure } from './failure.ts';

/**
 * Functions at the start of every script: Redis time in milliseconds since the epoch, as a whole
 * number and with its fraction. Redis runs a script at one moment, so repeated calls agree. At `maxmemory` it refuses the
 * first write of a script that needs memory, and none after one that needs none: a script without which workers cannot
 * send or record what waits calls `alsoWhenFull` before its first write, which deletes nothing. `jsonOf` reads an object or
 * a list that is stored as JSON: nil for none, and for what cannot be read, since what is stored may be anything.
 */
const PRELUDE = `
local function exactClock()
  local time = redis.call('TIME')
  return time[1] * 1000 + time[2] / 1000
end
local function clock() return math.floor(exactClock()) end
local function jsonOf(text)
  local isJson, value = pcall(cjson.decode, text)
  return isJson and type(value) == 'table' and value or nil
end
local function alsoWhenFull() redis.call('DEL', (string.match(KEYS[1], '^{.-}') or '') .. ':done:') end
`;

/** One Lua script. Redis runs it as a whole, with no other command in between. */
interface ScriptDefinition {
  readonly name: string;
  /** The body; the functions of the prelude are defined in front of it. */
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
  redis: Redis,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
) => Promise<Reply>;

/**
 * Defines a script. It is called by its hash; the text is sent only to a server that does not have it yet
 * (after a restart or failover), or where it has to be run `inOrder`.
 */
export function defineScript(definition: ScriptDefinition): Script<unknown>;
export function defineScript<Reply>(
  definition: ScriptDefinition & { readonly parse: (reply: unknown) => Reply },
): Script<Reply>;
export function defineScript({
  name,
  lua: body,
  binary = false,
  inOrder = false,
  parse = (reply) => reply,
}: ScriptDefinition & { readonly parse?: (reply: unknown) => unknown }): Script<unknown> {
  const lua = `${PRELUDE}${body}`;
  const sha = createHash('sha1').update(lua).digest('hex');
  return async (redis, keys, args) => {
    const run = (command: 'eval' | 'evalsha', script: string) =>
      binary
        ? redis.callBuffer(command, script, keys.length, ...keys, ...args)
        : redis[command](script, keys.length, ...keys, ...args);
    let reply: unknown;
    try {
      reply = await (inOrder ? run('eval', lua) : run('evalsha', sha)).catch((error: unknown) => {
        if (replyCode(error) === 'NOSCRIPT') return run('eval', lua);
        throw error;
      });
    } catch (error) {
      throw new ScriptFailure(name, redisErrorFields(error), isProgramError(error));
    }
    return parse(reply);
  };
}
