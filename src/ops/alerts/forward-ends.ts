import type { Logger } from 'pino';
import { countOf } from '../../format/format.ts';
import { readNoticeEvents, type NoticeEvent } from '../../notices/notice-events.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { redisTime } from '../../redis/server-clock.ts';
import { ALERTS, type AlertDraft } from './alert-event.ts';
import { alertEvent, type AlertStore, type Forwarded } from './alert-store.ts';

/** Ends of notices in one event, and events in one round. */
const ENDS_PER_EVENT = 500;
const EVENTS_PER_ROUND = 20;

/** What the ends of notices are forwarded with. */
export interface ForwardOptions {
  readonly redis: RedisClient;
  readonly keys: Pick<Keys, 'noticeEvents'>;
  readonly store: Pick<AlertStore, 'forwarded' | 'forward'>;
  /** REDIS_PREFIX and ACCOUNT, with a colon between them. */
  readonly queue: string;
  readonly log: Logger;
}

/**
 * Adds the ends of single notices since the last round to the outbox of events, many in one event and in
 * their order. The first round of all begins with the ends from then on. While the outbox is full, they wait
 * in their stream, which is bounded by NOTICE_EVENTS; while its receiver is away, until they fill an event.
 *
 * @returns what became of the last ones; undefined where there were none
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function forwardEnds(options: ForwardOptions): Promise<Forwarded | undefined> {
  const { redis, keys, store, queue, log } = options;
  let forwarded: Forwarded | undefined;
  for (let event = 0; event < EVENTS_PER_ROUND; event++) {
    const before = await store.forwarded();
    const { events, cursor } = await readNoticeEvents(redis, keys, before, ENDS_PER_EVENT);
    if (before === cursor) return forwarded;
    const missed = before !== undefined && (await isDeleted(redis, keys, before));
    const alert =
      events.length === 0
        ? undefined
        : alertEvent(endedDraft(events, missed), queue, Math.floor(await redisTime(redis)));
    const isFull = events.length === ENDS_PER_EVENT;
    forwarded = await store.forward(before, cursor, alert, isFull);
    if (forwarded !== 'done') return forwarded;
    if (missed) log.error({ event: 'notice-events-missed', after: before });
    if (!isFull) return forwarded;
  }
  return forwarded;
}

/** Whether the event at a cursor was deleted: then later ones may have been, too. */
async function isDeleted(
  redis: RedisClient,
  { noticeEvents }: Pick<Keys, 'noticeEvents'>,
  cursor: string,
): Promise<boolean> {
  if (cursor === '0') return false;
  try {
    return (await redis.xrange(noticeEvents, cursor, cursor)).length === 0;
  } catch (error) {
    throw redisFailure(error);
  }
}

function endedDraft(events: readonly NoticeEvent[], missed: boolean): AlertDraft {
  const notices = events.map(({ notice, state, code, at }) => ({
    notice,
    state,
    ...(code === undefined ? {} : { code }),
    at: new Date(at).toISOString(),
  }));
  const { remedy } = ALERTS['notices.ended'];
  const title = `${countOf(notices.length, 'single notice')} ended`;
  return {
    event: 'notices.ended',
    title,
    remedy,
    data: { notices, ...(missed ? { missed } : {}) },
  };
}
