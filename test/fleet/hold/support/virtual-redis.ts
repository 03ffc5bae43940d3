import { AsyncLocalStorage } from 'node:async_hooks';
import { vi } from 'vitest';
import type { RedisClient } from '../../../../src/redis/connect.ts';
import type { TestRedis } from '../../../support/redis.ts';

/**
 * Runs scripts of holds on a real Redis at a time of the test's: their TIME, and the lifetimes that they set
 * or read, are those of a clock that only {@link VirtualRedis.now} moves. What they publish is collected.
 */
const VIRTUAL = `
local real, V = redis, KEYS[1] .. ':virtual'
local vnow = tonumber(ARGV[#ARGV])
local function drop(...)
  for _, key in ipairs({ ... }) do real.call('HDEL', V, key) end
  return real.call('DEL', ...)
end
local redis = {}
redis.call = function(command, key, ...)
  if command == 'TIME' then return { math.floor(vnow / 1000), (vnow % 1000) * 1000 } end
  if command == 'PUBLISH' then return real.call('RPUSH', V .. ':hints', key .. ' ' .. (...)) end
  if command == 'DEL' then return drop(key, ...) end
  local ends = tonumber(real.call('HGET', V, key) or 0)
  if ends > 0 and ends <= vnow then drop(key) end
  local args, lasts = { ... }, nil
  if command == 'SET' then
    for at = #args - 1, 2, -1 do
      if args[at] == 'PX' then
        lasts = tonumber(args[at + 1])
        table.remove(args, at + 1)
        table.remove(args, at)
      end
    end
    local done = real.call('SET', key, unpack(args))
    if done then real.call('HSET', V, key, lasts and vnow + lasts or 0) end
    return done
  end
  if command == 'PEXPIRE' then
    if real.call('EXISTS', key) == 1 then real.call('HSET', V, key, vnow + tonumber(args[1])) end
    return 1
  end
  if command == 'PTTL' then
    if real.call('EXISTS', key) == 0 then return -2 end
    return ends > 0 and ends - vnow or -1
  end
  return real.call(command, key, unpack(args))
end
`;

/** A change of a script: a part of its text, and what is there instead. */
export type Change = readonly [part: string, instead: string];

/** Hashes of the scripts that Redis has. */
const shas = new Map<string, Promise<unknown>>();

/** The client and the clock of one test case. */
export class VirtualRedis {
  readonly #redis: TestRedis;
  readonly #record: string;
  readonly #change: Change | undefined;
  /** Milliseconds. */
  now = 1_000_000;
  /** Scripts of the client whose answer is lost, by how many come before each. */
  readonly lost = new Set<number>();
  #scripts = 0;
  #mayHavePublished = false;
  readonly client: RedisClient;

  /**
   * @param hold key of the hold: the first key of each of the scripts
   * @param change of the scripts that contain the part
   */
  constructor(redis: TestRedis, hold: string, change: Change | undefined) {
    this.#redis = redis;
    this.#record = `${hold}:virtual`;
    this.#change = change;
    const noScript = Object.assign(new Error('NOSCRIPT'), { name: 'ReplyError' });
    this.client = {
      evalsha: () => Promise.reject(noScript),
      eval: async (lua: string, ...args: [number, ...string[]]) => {
        this.#mayHavePublished = true;
        const answer = await this.run(lua, ...args);
        if (this.lost.has(this.#scripts++)) throw new Error('the answer was lost');
        return answer;
      },
    } as unknown as RedisClient;
  }

  /** Runs a script. */
  async run(lua: string, keys: number, ...args: (string | number)[]): Promise<unknown> {
    const [part, instead] = this.#change ?? ['', ''];
    const text = VIRTUAL + (part === '' ? lua : lua.replace(part, instead));
    const { client } = this.#redis;
    const loaded = shas.get(text) ?? client.script('LOAD', text);
    shas.set(text, loaded);
    return await client.evalsha(String(await loaded), keys, ...args, this.now);
  }

  /** What was published since the last call, as channel and text. */
  async published(): Promise<[channel: string, text: string][]> {
    if (!this.#mayHavePublished) return [];
    this.#mayHavePublished = false;
    const list = `${this.#record}:hints`;
    const found = await this.#redis.client.lpop(list, 1_000);
    return (found ?? []).map((one) => {
      const at = one.indexOf(' ');
      return [one.slice(0, at), one.slice(at + 1)];
    });
  }
}

const clocks = new AsyncLocalStorage<VirtualRedis>();

/** Makes the monotonic clock of everything that `run` calls that of the Redis, until `restore`. */
export function virtualTime(): { of: typeof clocks.run; restore: () => void } {
  const real = performance.now.bind(performance);
  const spy = vi
    .spyOn(performance, 'now')
    .mockImplementation(() => clocks.getStore()?.now ?? real());
  return { of: clocks.run.bind(clocks), restore: () => spy.mockRestore() };
}
