import type { NoticeEvent } from '../../src/events/event.ts';
import { readAccountEvents } from '../../src/events/follow.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';

/** The events of single notices after a cursor. */
export async function readNoticeEvents(
  client: RedisClient,
  keys: Pick<Keys, 'events'>,
  after: string,
  count: number,
): Promise<{ readonly events: readonly NoticeEvent[]; readonly cursor: string }> {
  const { events, cursor } = await readAccountEvents(client, keys, after, count);
  return { events: events.filter((event) => 'notice' in event), cursor };
}
