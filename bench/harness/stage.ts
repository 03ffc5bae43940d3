import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { startRedisServer } from '../../scripts/redis/redis-server.ts';
import { startMeasured, type MeasuredProcess } from './measured-process.ts';

/** What every leg stands on: a Redis and a service of our own, and a folder that goes at the end. */
export interface Stage {
  readonly folder: string;
  readonly redisUrl: string;
  readonly redis: Redis;
  readonly redisVersion: string;
  /** The emulator, or what stands in for it, in a process of its own. */
  readonly service: MeasuredProcess;
  readonly serviceUrl: string;
  /** Starts a program of this build; its output goes to a file of the folder. */
  start(
    program: string,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): MeasuredProcess;
  /** The same stage with a service that looks at nothing; each request counts as so many contacts. */
  withSink(contactsEach: number): Promise<Stage>;
  /** Forgets all that Redis and the service hold, so that the next contestant finds them empty. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const folder = await mkdtemp(path.join(tmpdir(), 'notices-bench-'));
  const server = await startRedisServer({
    persistence: true,
    // A rewrite in the middle of a round would be that contestant's bad luck.
    args: ['--auto-aof-rewrite-percentage', '0'],
  });
  const redis = new Redis(server.url);
  const running = new Set<MeasuredProcess>();
  const start: Stage['start'] = (program, args, env = {}) => {
    const name = `${path.basename(program, '.js')}-${running.size}.log`;
    const started = startMeasured(program, args, env, path.join(folder, name));
    running.add(started);
    return started;
  };
  const open = async (program: string, args: readonly string[]) => {
    const service = start(program, args);
    const { url: serviceUrl } = await service.next<{ url: string }>('url');
    return {
      service,
      serviceUrl,
      clear: async () => {
        await redis.flushall('SYNC');
        service.send({ clear: true });
      },
    };
  };
  const stage: Stage = {
    ...(await open('bench/programs/service.js', [])),
    folder,
    redisUrl: server.url,
    redis,
    redisVersion: /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? '',
    start,
    withSink: async (contactsEach) => ({
      ...stage,
      ...(await open('bench/programs/sink.js', [String(contactsEach)])),
    }),
    close: async () => {
      for (const process of running) await process.stop();
      redis.disconnect();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return stage;
}
