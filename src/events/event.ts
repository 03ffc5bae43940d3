import type { HoldKind } from '../contracts/hold.ts';
import type { RedisClient, RedisSettings } from '../redis/connect.ts';
import {
  followEvents,
  type EventsOptions,
  readEvents,
  type EventFields,
  type EventsPage,
} from '../redis/follow-events.ts';
import { LEAST_EVENTS, type Keys } from '../redis/keys.ts';

export type { EventsOptions };

/** The fields of every event. No event contains a phone number, a variable or a secret. */
interface EventHead {
  /** Position of this event: pass it as `from` to continue after this event. */
  readonly cursor: string;
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
}

const NOTICE_STATES = [
  'accepted',
  'rejected',
  'unknown',
  'expired',
  'cancelled',
  'pending',
] as const;

/**
 * A single notice; written with NOTICE_EVENTS.
 *
 * - `notice.ended`: it has ended in `state`. An operator's decision on an unknown outcome is another end.
 * - `notice.redriven`: an operator sends it again; it ends again.
 */
export interface NoticeEvent extends EventHead {
  readonly event: 'notice.ended' | 'notice.redriven';
  /** Id of the notice, as in its receipt. */
  readonly notice: string;
  readonly state: (typeof NOTICE_STATES)[number];
  /** The code of the service, or one of `ERROR_CODES`; absent where there is none. */
  readonly code?: string;
}

/** No contact of the batch is pending any more. A redrive reopens the batch; then it finishes again. */
export interface BatchFinished extends EventHead {
  readonly event: 'batch.finished';
  readonly batch: string;
  readonly phase: 'finished' | 'cancelled';
  /** Contacts of the batch; the five counts below add up to it. */
  readonly total: number;
  readonly accepted: number;
  readonly rejected: number;
  /** Contacts of which it is not known whether the service accepted them. */
  readonly unknown: number;
  /** Contacts not sent before `expiresAt`. */
  readonly expired: number;
  readonly cancelled: number;
  /** Contacts sent again after an unknown outcome: the most messages that can have arrived twice. */
  readonly possiblySentTwice: number;
}

/** Nothing changed for a while although contacts are pending; their jobs were queued again. */
export interface BatchStalled extends EventHead {
  readonly event: 'batch.stalled';
  readonly batch: string;
  readonly pending: number;
}

/** Contacts of the batch were rejected and none was accepted. Written once, when the number is reached. */
export interface BatchRefused extends EventHead {
  readonly event: 'batch.refused';
  readonly batch: string;
  readonly rejected: number;
  /** The service's code for the last of them. */
  readonly code: string;
}

/** The service rejected contacts and they are not retried: a single contact, or a whole chunk. */
export interface ContactRejected extends EventHead {
  readonly event: 'contact.rejected';
  readonly batch: string;
  /** Name of the failure in the batch: `<chunk>` or `<chunk>.<part>`. */
  readonly failure: string;
  readonly contacts: number;
  /** Their rows in the list, such as `2-5,9`; empty where they are not known, or many. */
  readonly rows: string;
  readonly code: string;
}

/** What the watch found (watch.ts): a condition of the account has begun or ended. */
export type WatchEvent = EventHead & WatchFinding;

/** A finding of the watch, before it is in the stream. */
export type WatchFinding =
  | {
      readonly event: 'hold.begun';
      readonly kind: HoldKind;
      readonly code: string;
      readonly since: number;
    }
  | { readonly event: 'hold.ended'; readonly kind: HoldKind; readonly since: number }
  | { readonly event: 'workers.none' | 'workers.back'; readonly waiting: number }
  | { readonly event: 'waiting.long' | 'waiting.short'; readonly waitedMs: number }
  | {
      readonly event: 'unknown.many' | 'unknown.few';
      readonly notices: number;
      readonly contacts: number;
    }
  | {
      readonly event: 'memory.near' | 'memory.eased';
      readonly usedBytes: number;
      readonly limitBytes: number;
    };

/** An event of the account; `event` tells which kind it is. */
export type AccountEvent =
  NoticeEvent | BatchFinished | BatchStalled | BatchRefused | ContactRejected | WatchEvent;

/**
 * Events of the account, in order. Waits for more until the loop is left or a signal aborts. An outage of Redis and a
 * failover only delay events.
 *
 * @param closing ends the iteration like the signal of the options
 * @throws InputError CONFIG_INVALID at once; while iterating NoticeQueueError QUEUE_UNAVAILABLE or
 *   QUEUE_REFUSED if Redis replies with an error that does not pass by itself
 */
export function accountEvents(
  redis: RedisSettings,
  { events: stream }: Pick<Keys, 'events'>,
  options: EventsOptions = {},
  closing?: AbortSignal,
  silenceMs?: number,
): AsyncGenerator<AccountEvent, void, undefined> {
  return followEvents({ redis, stream, eventOf, closing, silenceMs }, options);
}

/** Events after a cursor, without waiting ({@link readEvents}). */
export async function readAccountEvents(
  client: RedisClient,
  { events: stream }: Pick<Keys, 'events'>,
  after: string | undefined,
  count: number,
): Promise<EventsPage<AccountEvent>> {
  return readEvents(client, stream, eventOf, after, count);
}

/** Deletes the oldest events. @param most how many are kept (NOTICE_EVENTS), but at least {@link LEAST_EVENTS} */
export async function trimEvents(
  client: RedisClient,
  { events }: Pick<Keys, 'events'>,
  most: number,
): Promise<void> {
  await client.xtrim(events, 'MAXLEN', '~', Math.max(most, LEAST_EVENTS));
}

/** Undefined for an entry that this version does not know. */
function eventOf(cursor: string, { text, number }: EventFields): AccountEvent | undefined {
  const head = { cursor, at: Number.parseInt(cursor, 10) };
  const event = text('event');
  const batch = text('batch');
  switch (event) {
    // The entries of notices are the most, and have no field for it.
    case '':
      return noticeEventOf(head, text);
    case 'batch.finished':
      return {
        ...head,
        event,
        batch,
        phase: text('phase') === 'cancelled' ? 'cancelled' : 'finished',
        total: number('total'),
        accepted: number('accepted'),
        rejected: number('rejected'),
        unknown: number('unknown'),
        expired: number('expired'),
        cancelled: number('cancelled'),
        possiblySentTwice: number('possiblySentTwice'),
      };
    case 'batch.stalled':
      return { ...head, event, batch, pending: number('pending') };
    case 'batch.refused':
      return { ...head, event, batch, rejected: number('rejected'), code: text('code') };
    case 'contact.rejected':
      return {
        ...head,
        event,
        batch,
        failure: text('failure'),
        contacts: number('contacts'),
        rows: text('rows'),
        code: text('code'),
      };
    case 'watch':
      return { ...head, ...(JSON.parse(text('finding')) as WatchFinding) };
    default:
      return undefined;
  }
}

function noticeEventOf(head: EventHead, text: EventFields['text']): NoticeEvent | undefined {
  const state = NOTICE_STATES.find((one) => one === text('state'));
  const code = text('code');
  if (state === undefined) return undefined;
  return {
    ...head,
    event: state === 'pending' ? 'notice.redriven' : 'notice.ended',
    notice: text('notice'),
    state,
    ...(code === '' ? {} : { code }),
  };
}
