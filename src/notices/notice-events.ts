import type { RedisClient, RedisSettings } from '../redis/connect.ts';
import { followEvents, type EventsOptions } from '../redis/follow-events.ts';
import type { Keys } from '../redis/keys.ts';
import { readEvents, type EventFields, type EventsPage } from '../redis/read-events.ts';
import { defineScript } from '../redis/script.ts';
import type { NoticeState } from './notice-state.ts';

/** The states in which a notice has ended. */
export type EndState = Exclude<NoticeState, 'pending' | 'sending' | 'not-kept'>;

/**
 * An event of a notice. Contains no phone number and no variable.
 *
 * - `notice.ended`: it has ended in `state`. An operator's decision on an unknown outcome is another end.
 * - `notice.redriven`: an operator sends it again; it ends again.
 */
export interface NoticeEvent {
  /** Position of this event: pass it as `from` to continue after this event. */
  readonly cursor: string;
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
  readonly event: 'notice.ended' | 'notice.redriven';
  /** Id of the notice, as in its receipt. */
  readonly notice: string;
  readonly state: EndState | 'pending';
  /** The code of the service, or one of `ERROR_CODES`; absent where there is none. */
  readonly code?: string;
}

/** Options of `NoticeQueue.events`. All of them may be left out. */
export type NoticeEventsOptions = EventsOptions;

/** What is stored of an event. Its names and their order never change: Redis stores equal names once. */
export interface EventEntry extends Pick<NoticeEvent, 'notice' | 'state'> {
  readonly code: string;
}

/**
 * Events of single notices, in the order of their ends. Waits for more until the loop is left or a signal
 * aborts. Kept as the workers are configured (NOTICE_EVENTS).
 *
 * @throws InputError CONFIG_INVALID at once; while iterating NoticeQueueError QUEUE_UNAVAILABLE or
 *   QUEUE_REFUSED if Redis replies with an error that does not pass by itself
 */
export function noticeEvents(
  redis: RedisSettings,
  { noticeEvents: stream }: Pick<Keys, 'noticeEvents'>,
  options: NoticeEventsOptions = {},
  closing?: AbortSignal,
): AsyncGenerator<NoticeEvent, void, undefined> {
  return followEvents({ redis, stream, eventOf, closing }, options);
}

/** Events of single notices after a cursor, without waiting ({@link readEvents}). */
export async function readNoticeEvents(
  client: RedisClient,
  { noticeEvents: stream }: Pick<Keys, 'noticeEvents'>,
  after: string | undefined,
  count: number,
): Promise<EventsPage<NoticeEvent>> {
  return readEvents(client, stream, eventOf, after, count);
}

/**
 * Appends an event: one command, which a worker sends together with the one that ends the job.
 *
 * @param most events that are kept (NOTICE_EVENTS)
 * @param lockToken where it is appended only while the lock of the job has this token
 * @returns whether it was appended
 * @throws ScriptFailure
 */
export async function appendNoticeEvent(
  redis: RedisClient,
  { noticeEvents, noticeLock }: Pick<Keys, 'noticeEvents' | 'noticeLock'>,
  { notice, state, code }: EventEntry,
  most: number,
  lockToken = '',
): Promise<boolean> {
  const fields = ['notice', notice, 'state', state, 'code', code] as const;
  return append(redis, [noticeEvents, noticeLock(notice)], [lockToken, most, ...fields]);
}

/**
 * Redis takes the end of a job also while it is out of memory, which frees some, and so it must take the event: after a
 * first write it refuses no other in the same script. KEYS: events, the lock of the job. ARGV: its token, or empty; how
 * many events are kept; the fields.
 */
const append = defineScript({
  name: 'append an event',
  keys: 2,
  // Before the command that ends the job.
  inOrder: true,
  lua: `
if ARGV[1] ~= '' and redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[2])
redis.call('XADD', KEYS[1], '*', unpack(ARGV, 3))
return 1`,
  parse: (reply: unknown) => reply === 1,
});

const STATES: readonly string[] = [
  'accepted',
  'rejected',
  'unknown',
  'expired',
  'cancelled',
  'pending',
] satisfies NoticeEvent['state'][];

const isState = (text: string): text is NoticeEvent['state'] => STATES.includes(text);

/** Undefined for a state that this version does not know. */
function eventOf(cursor: string, { text }: EventFields): NoticeEvent | undefined {
  const [state, code] = [text('state'), text('code')];
  if (!isState(state)) return undefined;
  return {
    cursor,
    at: Number.parseInt(cursor, 10),
    event: state === 'pending' ? 'notice.redriven' : 'notice.ended',
    notice: text('notice'),
    state,
    ...(code === '' ? {} : { code }),
  };
}
