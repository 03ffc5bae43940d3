import type { Redis } from 'ioredis';

/** What Redis says of itself; all but `memoryBytes` only grows. */
export interface RedisUsage {
  readonly cpuMs: number;
  readonly inBytes: number;
  readonly outBytes: number;
  readonly memoryBytes: number;
  /** Calls by command, those from scripts included. */
  readonly commands: Readonly<Record<string, number>>;
}

/** Reads it. */
export async function redisUsage(redis: Redis): Promise<RedisUsage> {
  const info = await redis.info('everything');
  const figure = (name: string) => Number(new RegExp(`^${name}:([0-9.]+)`, 'm').exec(info)?.[1]);
  const calls = info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm);
  return {
    cpuMs: 1_000 * (figure('used_cpu_sys') + figure('used_cpu_user')),
    inBytes: figure('total_net_input_bytes'),
    outBytes: figure('total_net_output_bytes'),
    memoryBytes: figure('used_memory'),
    commands: Object.fromEntries([...calls].map(([, name, count]) => [name ?? '', Number(count)])),
  };
}

/** What was used between two readings; `memoryBytes` may be negative. */
export function usedBetween(before: RedisUsage, after: RedisUsage): RedisUsage {
  const names = new Set([...Object.keys(before.commands), ...Object.keys(after.commands)]);
  const commands = [...names].map((name): [string, number] => [
    name,
    (after.commands[name] ?? 0) - (before.commands[name] ?? 0),
  ]);
  return {
    cpuMs: after.cpuMs - before.cpuMs,
    inBytes: after.inBytes - before.inBytes,
    outBytes: after.outBytes - before.outBytes,
    memoryBytes: after.memoryBytes - before.memoryBytes,
    commands: Object.fromEntries(commands.filter(([, calls]) => calls !== 0)),
  };
}
