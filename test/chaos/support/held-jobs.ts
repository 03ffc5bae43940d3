import type { Redis } from 'ioredis';
import { CHUNK_QUEUE_NAME, QUEUE_NAME, type Keys } from '../../../src/redis/keys.ts';
import { type Load } from './load.ts';
import { CHUNK } from './settings.ts';

/** A job that a worker has fetched and not ended. */
export interface HeldJob {
  readonly queue: string;
  readonly id: string;
}

/** The jobs that workers hold now, in both lanes. */
export async function activeJobs(redis: Redis, keys: Keys): Promise<HeldJob[]> {
  const jobs: HeldJob[] = [];
  for (const queue of [QUEUE_NAME, CHUNK_QUEUE_NAME]) {
    const ids = await redis.lrange(`${keys.bullPrefix}:${queue}:active`, 0, -1);
    jobs.push(...ids.map((id) => ({ queue, id })));
  }
  return jobs;
}

/** Whether all of them have ended: a chunk's job is gone then, a notice's is kept. */
export async function areDone(
  redis: Redis,
  keys: Keys,
  jobs: readonly HeldJob[],
): Promise<boolean> {
  const pipeline = redis.pipeline();
  for (const { queue, id } of jobs) {
    const beginning = `${keys.bullPrefix}:${queue}:`;
    pipeline.zscore(`${beginning}completed`, id);
    pipeline.zscore(`${beginning}failed`, id);
    pipeline.exists(`${beginning}${id}`);
  }
  const replies = (await pipeline.exec()) ?? [];
  return jobs.every((_, index) => {
    const [done, failed, exists] = [0, 1, 2].map((at) => replies[index * 3 + at]?.[1]);
    return done !== null || failed !== null || exists === 0;
  });
}

/** Contacts of the jobs; a chunk's are a slice of the list. */
export function contactsOf(jobs: readonly HeldJob[], load: Load): ReadonlySet<string> {
  return new Set(
    jobs.flatMap(({ queue, id }) => {
      if (queue === QUEUE_NAME) return [load.notices.get(id) ?? ''];
      const chunk = Number(/-(\d+)$/.exec(id)?.[1]);
      return load.listed.slice(chunk * CHUNK, (chunk + 1) * CHUNK);
    }),
  );
}
