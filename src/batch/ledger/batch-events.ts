import { z } from 'zod';
import { Cancellation } from '../../async/cancellation.ts';
import type { CancelSignal } from '../../contracts/cancel-signal.ts';
import { parseInput } from '../../contracts/parse-input.ts';
import { connectRedis, type RedisClient, type RedisSettings } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
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
export interface BatchEventsOptions {
  /**
   * Cursor of the last event that was handled: events after it are returned. '0' returns all stored
   * events, about the last 10,000 of the account. Events that were deleted since are missed.
   * @default only events after the start of the iteration
   */
  readonly from?: string | undefined;
  /** Ends the iteration without an error, also while it waits for an event. */
  readonly signal?: AbortSignal | undefined;
}

const optionsSchema = z.strictObject(
  {
    from: z
      .string('expected the cursor of an event')
      .regex(/^\d{1,19}(-\d{1,19})?$/, "expected the cursor of an event, or '0'")
      .optional(),
    signal: z.instanceof(AbortSignal, { error: 'expected an AbortSignal' }).optional(),
  },
  'expected an options object',
);

/** How long one read waits in Redis. Its reply also shows that the connection works. */
const BLOCK_MS = 5_000;

const EVENTS_PER_READ = 200;

/**
 * Events of the account's batches, in order. Waits for more until the loop is left or a signal aborts.
 * An outage of Redis only delays events. Each iteration opens its own connection.
 *
 * @param closing ends the iteration like the signal of the options
 * @param silenceMs reconnect after this time without a reply
 * @throws InputError CONFIG_INVALID at once; while iterating NoticeQueueError QUEUE_UNAVAILABLE or
 *   QUEUE_REFUSED if Redis replies with an error
 */
export function batchEvents(
  redis: RedisSettings,
  keys: Pick<Keys, 'batchEvents'>,
  options: BatchEventsOptions = {},
  closing?: AbortSignal,
  silenceMs = 3 * BLOCK_MS,
): AsyncGenerator<BatchEvent, void, undefined> {
  const { from, signal } = parseInput(optionsSchema, options, 'CONFIG_INVALID', '', 'options');
  return follow(redis, keys.batchEvents, from, new Cancellation(signal, closing), silenceMs);
}

async function* follow(
  redis: RedisSettings,
  stream: string,
  from: string | undefined,
  signal: CancelSignal,
  silenceMs: number,
): AsyncGenerator<BatchEvent, void, undefined> {
  if (signal.aborted) return;
  // Connection errors are outages: the client reconnects by itself.
  const client = connectRedis(redis, 'worker', () => {});
  const disconnect = () => client.disconnect();
  signal.addEventListener('abort', disconnect);
  const ask = <Reply>(command: () => Promise<Reply>) => replyTo(client, command, signal, silenceMs);
  try {
    let cursor = from ?? (await ask(() => lastCursor(client, stream)));
    while (cursor !== undefined) {
      const after = cursor;
      const entries = await ask(() => entriesAfter(client, stream, after));
      if (entries === undefined) return;
      for (const [id, fields] of entries) {
        cursor = id;
        const event = eventOf(id, fields);
        if (event !== undefined) yield event;
        if (signal.aborted) return;
      }
    }
  } finally {
    signal.removeEventListener('abort', disconnect);
    disconnect();
  }
}

/** The reply; undefined once the signal has aborted. Reconnects if Redis does not reply. */
async function replyTo<Reply>(
  client: RedisClient,
  command: () => Promise<Reply>,
  signal: CancelSignal,
  silenceMs: number,
): Promise<Reply | undefined> {
  const watchdog = setInterval(() => client.disconnect(true), silenceMs);
  try {
    return await command();
  } catch (error) {
    if (signal.aborted) return undefined;
    throw redisFailure(error);
  } finally {
    clearInterval(watchdog);
  }
}

/**
 * Events of batches after a cursor, without waiting; for polling.
 *
 * @param after cursor of the last known event; if undefined, returns no events and the newest cursor
 * @param count events at most
 * @returns the events, and the cursor for the next call
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readBatchEvents(
  client: RedisClient,
  { batchEvents: stream }: Pick<Keys, 'batchEvents'>,
  after: string | undefined,
  count: number,
): Promise<{ readonly events: readonly BatchEvent[]; readonly cursor: string }> {
  try {
    if (after === undefined) return { events: [], cursor: await lastCursor(client, stream) };
    const entries = await client.xrange(stream, `(${after}`, '+', 'COUNT', count);
    const events = entries.map(([id, fields]) => eventOf(id, fields));
    const cursor = entries.at(-1)?.[0] ?? after;
    return { events: events.filter((event) => event !== undefined), cursor };
  } catch (error) {
    throw redisFailure(error);
  }
}

type StreamEntry = readonly [id: string, fields: readonly string[]];

async function lastCursor(client: RedisClient, stream: string): Promise<string> {
  const [last] = await client.xrevrange(stream, '+', '-', 'COUNT', 1);
  return last?.[0] ?? '0';
}

async function entriesAfter(
  client: RedisClient,
  stream: string,
  cursor: string,
): Promise<readonly StreamEntry[]> {
  const reply = (await client.xread(
    'COUNT',
    EVENTS_PER_READ,
    'BLOCK',
    BLOCK_MS,
    'STREAMS',
    stream,
    cursor,
  )) as readonly (readonly [stream: string, entries: readonly StreamEntry[]])[] | null;
  return reply?.[0]?.[1] ?? [];
}

/** Undefined for an event kind that this version does not know. */
function eventOf(cursor: string, list: readonly string[]): BatchEvent | undefined {
  const fields = new Map<string, string>();
  for (let index = 0; index + 1 < list.length; index += 2) {
    fields.set(list[index] ?? '', list[index + 1] ?? '');
  }
  const text = (name: string) => fields.get(name) ?? '';
  const number = (name: string) => Number(fields.get(name) ?? 0);
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
