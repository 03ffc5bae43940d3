import { NoticeQueueError } from '../errors.ts';
import type { RedisClient } from './connect.ts';
import { redisFailure } from './failure.ts';

/** Oldest Redis that BullMQ works with unreservedly. */
const MIN_VERSION = '6.2.0';

/** What a Redis says of itself. */
export interface RedisFacts {
  readonly version: string;
  /** `maxmemory-policy`; empty where the server does not say. */
  readonly policy: string;
}

/** What is wrong with this Redis for a queue that must not lose notices; empty when nothing is. */
export function unsuitable({ version, policy }: RedisFacts): string[] {
  const problems: string[] = [];
  if (compareVersions(version, MIN_VERSION) < 0) {
    problems.push(`Redis ${version} is older than ${MIN_VERSION}.`);
  }
  if (policy !== '' && policy !== 'noeviction') {
    problems.push(
      `maxmemory-policy is ${policy}: under memory pressure Redis would evict notices.`,
    );
  }
  return problems;
}

/** Reads the version and the eviction policy. INFO needs no admin permission. */
export async function readRedisFacts(redis: RedisClient): Promise<RedisFacts> {
  let text: string;
  try {
    text = `${await redis.info('server')}\n${await redis.info('memory')}`;
  } catch (error) {
    throw redisFailure(error);
  }
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1] ?? '';
  return { version: field('redis_version'), policy: field('maxmemory_policy') };
}

/** @throws NoticeQueueError REDIS_UNSUITABLE that says what is wrong and what to set */
export async function requireSuitable(redis: RedisClient): Promise<RedisFacts> {
  const facts = await readRedisFacts(redis);
  const problems = unsuitable(facts);
  if (problems.length > 0) throw new NoticeQueueError('REDIS_UNSUITABLE', problems.join(' '));
  return facts;
}

function compareVersions(left: string, right: string): number {
  const parts = (version: string) => version.split('.').map(Number);
  const [a, b] = [parts(left), parts(right)];
  for (let index = 0; index < 3; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
