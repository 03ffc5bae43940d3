import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { ANNOUNCE, type EndState } from './notice-events.ts';

/** KEYS: the job, retention, events. ARGV: id, state. */
const announceScript = defineScript({
  name: 'announce the end of a notice',
  keys: 3,
  lua: `${ANNOUNCE}
if redis.call('EXISTS', KEYS[1]) == 1 then announce(KEYS[2], KEYS[3], KEYS[1], ARGV[1], ARGV[2], '') end
return 0`,
});

/**
 * Appends the event of an end by decision, where the workers keep events. Repeated, it is another event with
 * the same state.
 *
 * @throws ScriptFailure
 */
export async function announceEnd(
  redis: RedisClient,
  keys: Pick<Keys, 'noticeJob' | 'retention' | 'noticeEvents'>,
  job: string,
  state: EndState,
): Promise<void> {
  const { retention, noticeEvents } = keys;
  await announceScript(redis, [keys.noticeJob(job), retention, noticeEvents], [job, state]);
}
