import { z } from 'zod';
import { Cancellation } from '../../async/cancellation.ts';
import type { CancelSignal } from '../../contracts/cancel-signal.ts';
import { parseInput } from '../../contracts/parse-input.ts';
import { connectRedis, type RedisClient, type RedisSettings } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';

/** What every event says. */
interface EventHead {
  /** Hand it to `from` to go on after this event. */
  readonly cursor: string;
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
  /** Id of the batch. */
  readonly batch: string;
}

/** Nothing of the batch is pending any more. A redrive opens it again, and then it comes once more. */
export interface BatchFinished extends EventHead {
  readonly event: 'batch.finished';
  readonly phase: 'finished' | 'cancelled';
  /** Contacts; the states add up to it. */
  readonly total: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly expired: number;
  readonly cancelled: number;
  /** Messages that may have come twice at most. */
  readonly maybeTwice: number;
}

/** Nothing moved for a while although contacts are pending; their jobs were queued anew. */
export interface BatchStalled extends EventHead {
  readonly event: 'batch.stalled';
  /** Contacts. */
  readonly pending: number;
}

/** The service refused contacts for good: one that was isolated, or a chunk. */
export interface ContactRejected extends EventHead {
  readonly event: 'contact.rejected';
  /** Name of the failure in the batch. */
  readonly failure: string;
  /** How many. */
  readonly contacts: number;
  /** The service's own code. */
  readonly code: string;
}

/** What became of a batch; tell them apart by `event`. */
export type BatchEvent = BatchFinished | BatchStalled | ContactRejected;

/** Options of {@link batchEvents}. All of them may be left out. */
export interface BatchEventsOptions {
  /**
   * Cursor of the last event that was handled; '0' for all that are kept, the last 10,000 or so.
   * Events that were dropped since the cursor are missed.
   * @default from now, the moment at which the first event is asked for
   */
  readonly from?: string | undefined;
  /** Ends the iteration, also while it waits for an event. */
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

/** How long Redis lets one question wait; a wait that is answered shows that the connection lives. */
const BLOCK_MS = 5_000;

const EVENTS_PER_READ = 200;

/**
 * What becomes of the account's batches, in order, told by the workers' own accounting. It waits for
 * more until it is ended: by leaving the loop, or by a signal. An outage of Redis only delays it.
 *
 * Opens a connection of its own for each iteration.
 *
 * @param closing ends it like the signal of the options
 * @param silenceMs a connection that says nothing for so long is opened anew
 * @throws InputError CONFIG_INVALID at once; while iterating NoticeQueueError QUEUE_UNAVAILABLE or
 *   QUEUE_REFUSED where Redis answers with an error
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
  // Errors of the connection are outages; it comes back by itself.
  const client = connectRedis(redis, 'worker', () => {});
  const disconnect = () => client.disconnect();
  signal.addEventListener('abort', disconnect);
  const ask = <Reply>(command: () => Promise<Reply>) =>
    answerOf(client, command, signal, silenceMs);
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

/** Undefined once the signal ended it. A connection that went dumb is replaced meanwhile. */
async function answerOf<Reply>(
  client: RedisClient,
  command: () => Promise<Reply>,
  signal: CancelSignal,
  silenceMs: number,
): Promise<Reply | undefined> {
  const watch = setInterval(() => client.disconnect(true), silenceMs);
  try {
    return await command();
  } catch (error) {
    if (signal.aborted) return undefined;
    throw redisFailure(error);
  } finally {
    clearInterval(watch);
  }
}

/**
 * What became of batches since a cursor, without waiting: for whoever looks every now and then.
 *
 * @param after cursor of the last event that is known; from now on when left out
 * @param count events at most
 * @returns the events, and the cursor to go on with
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

/** Undefined for an event that only a newer version knows. */
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
        maybeTwice: number('maybeTwice'),
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
