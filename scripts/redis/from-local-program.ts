import path from 'node:path';
import type { ProvidedRedis, RedisOrigin, StepContext } from './redis-step.ts';
import { localProgram, startRedisServer } from './redis-server.ts';

/** A server of our own from the `redis-server` or `valkey-server` on PATH. */
export async function fromLocalProgram(context: StepContext): Promise<ProvidedRedis | string> {
  const program = localProgram(context.env['PATH']);
  if (program === undefined) return 'Neither redis-server nor valkey-server is on PATH.';
  const how = path.basename(program) === 'valkey-server' ? 'valkey-server' : 'redis-server';
  return startAs(how, program, context);
}

/** Starts the program and says where it came from. */
export async function startAs(
  how: RedisOrigin,
  program: string,
  { persistence }: StepContext,
): Promise<ProvidedRedis> {
  const server = await startRedisServer({ program, persistence });
  return { url: server.url, how, close: () => server.close() };
}
