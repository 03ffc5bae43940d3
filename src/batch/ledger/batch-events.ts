import type { RedisClient, RedisSettings } from '../../redis/connect.ts';
import { followEvents, type EventsOptions } from '../../redis/follow-events.ts';
import type { Keys } from '../../redis/keys.ts';
import { readEvents, type EventFields, type EventsPage } from '../../redis/read-events.ts';
import { possiblySentTwice } from './batch-record.ts';

/** The fields of every event. */
interface EventHead {
  /** Position of this event: pass it as `from` to continue after this event. */
  readonly cursor: string;
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
  /** Id of the batch. */
  readonly batch: string;
}

/** No contact of the batch is pending any more. A redrive reopens the batch; then it finishes again. */
export interface BatchFinished extends EventHead {
  readonly event: 'batch.finished';
  readonly phase: 'finished' | 'cancelled';
  /** Contacts of the batch; the five counts below add up to it. */
  readonly total: number;
  /** Contacts that the service accepted. */
  readonly accepted: number;
  /** Contacts that the service rejected. */
  readonly rejected: number;
  /** Contacts of which it is not known whether the service accepted them. */
  readonly unknown: number;
  /** Contacts not sent before `expiresAt`. */
  readonly expired: number;
  /** Contacts not sent because the batch was cancelled. */
  readonly cancelled: number;
  /** Contacts sent again after an unknown outcome: the most messages that can have arrived twice. */
  readonly possiblySentTwice: number;
  /** @deprecated the former name of `possiblySentTwice` */
  readonly maybeTwice: number;
}

/** Nothing changed for a while although contacts are pending; their jobs were queued again. */
export interface BatchStalled extends EventHead {
  readonly event: 'batch.stalled';
  /** Number of pending contacts. */
  readonly pending: number;
}

/** The service rejected contacts and they are not retried: a single contact, or a whole chunk. */
export interface ContactRejected extends EventHead {
  readonly event: 'contact.rejected';
  /** Name of the failure in the batch: `<chunk>` or `<chunk>.<part>`. */
  readonly failure: string;
  /** Number of rejected contacts. */
  readonly contacts: number;
  /** The service's error code. */
  readonly code: string;
}

/** An event of a batch; `event` tells which kind it is. */
export type BatchEvent = BatchFinished | BatchStalled | ContactRejected;

/** Options of {@link batchEvents}. All of them may be left out. */
export type BatchEventsOptions = EventsOptions;

/**
 * Events of the account's batches, in order. Waits for more until the loop is left or a signal aborts.
 * About the last 10,000 are kept.
 *
 * @param closing ends the iteration like the signal of the options
 * @param silenceMs reconnect after this time without a reply
 * @throws InputError CONFIG_INVALID at once; while iterating NoticeQueueError QUEUE_UNAVAILABLE or
 *   QUEUE_REFUSED if Redis replies with an error that does not pass by itself
 */
export function batchEvents(
  redis: RedisSettings,
  { batchEvents: stream }: Pick<Keys, 'batchEvents'>,
  options: BatchEventsOptions = {},
  closing?: AbortSignal,
  silenceMs?: number,
): AsyncGenerator<BatchEvent, void, undefined> {
  return followEvents({ redis, stream, eventOf, closing, silenceMs }, options);
}

/** Events of batches after a cursor, without waiting ({@link readEvents}). */
export async function readBatchEvents(
  client: RedisClient,
  { batchEvents: stream }: Pick<Keys, 'batchEvents'>,
  after: string | undefined,
  count: number,
): Promise<EventsPage<BatchEvent>> {
  return readEvents(client, stream, eventOf, after, count);
}

/** Undefined for an event kind that this version does not know. */
function eventOf(cursor: string, { text, number }: EventFields): BatchEvent | undefined {
  const head = { cursor, at: Number.parseInt(cursor, 10), batch: text('batch') };
  const event = text('event');
  switch (event) {
    case 'batch.finished':
      return {
        ...head,
        event,
        phase: text('phase') === 'cancelled' ? 'cancelled' : 'finished',
        total: number('total'),
        accepted: number('accepted'),
        rejected: number('rejected'),
        unknown: number('unknown'),
        expired: number('expired'),
        cancelled: number('cancelled'),
        ...possiblySentTwice(number('maybeTwice')),
      };
    case 'batch.stalled':
      return { ...head, event, pending: number('pending') };
    case 'contact.rejected':
      return {
        ...head,
        event,
        failure: text('failure'),
        contacts: number('contacts'),
        code: text('code'),
      };
    default:
      return undefined;
  }
}
