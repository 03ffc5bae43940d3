import { z } from 'zod';
import { Cancellation, pause } from '../async/cancellation.ts';
import { parseInput } from '../contracts/parse-input.ts';
import type { CancelSignal } from '../contracts/token.ts';
import { connectRedis, type RedisClient, type RedisSettings } from './connect.ts';
import { isProgramError, isRefusedLastingly, redisFailure } from './failure.ts';

/** Options of an iteration over events. All of them may be left out. */
export interface EventsOptions {
  /**
   * Cursor of the last event that was handled: events after it are returned. '0' returns all that are
   * kept. Events that were deleted since are missed.
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

/** Pause before a read is repeated that Redis refused for a reason that passes, in milliseconds. */
const REPEAT_PAUSE_MS = 500;

/** A stream of events, and how its entries are read. */
export interface FollowedStream<Event> {
  readonly redis: RedisSettings;
  readonly stream: string;
  readonly eventOf: EventOf<Event>;
  /** Ends the iteration like the signal of the options. */
  readonly closing?: AbortSignal | undefined;
  /** Reconnect after this time without a reply, in milliseconds. */
  readonly silenceMs?: number | undefined;
}

/**
 * Events of a stream, in order. Waits for more until the loop is left or a signal aborts. An outage of
 * Redis and a failover only delay events. Each iteration opens its own connection.
 *
 * @throws InputError CONFIG_INVALID at once; while iterating NoticeQueueError QUEUE_UNAVAILABLE or
 *   QUEUE_REFUSED if Redis replies with an error that does not pass by itself
 */
export function followEvents<Event>(
  followed: FollowedStream<Event>,
  options: EventsOptions,
): AsyncGenerator<Event, void, undefined> {
  const { from, signal } = parseInput(optionsSchema, options, 'CONFIG_INVALID', '', 'options');
  return follow(followed, from, new Cancellation(signal, followed.closing));
}

async function* follow<Event>(
  { redis, stream, eventOf, silenceMs = 3 * BLOCK_MS }: FollowedStream<Event>,
  from: string | undefined,
  signal: CancelSignal,
): AsyncGenerator<Event, void, undefined> {
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
        const event = eventOf(id, fieldsOf(fields));
        if (event !== undefined) yield event;
        if (signal.aborted) return;
      }
    }
  } finally {
    signal.removeEventListener('abort', disconnect);
    disconnect();
  }
}

/**
 * The reply; undefined once the signal has aborted. Reconnects if Redis does not reply, and asks again where the
 * reply is an error that passes: reading does not change anything.
 */
async function replyTo<Reply>(
  client: RedisClient,
  command: () => Promise<Reply>,
  signal: CancelSignal,
  silenceMs: number,
): Promise<Reply | undefined> {
  while (!signal.aborted) {
    const watchdog = setInterval(() => client.disconnect(true), silenceMs);
    try {
      return await command();
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!passes(error)) throw redisFailure(error);
    } finally {
      clearInterval(watchdog);
    }
    await pause(REPEAT_PAUSE_MS, signal);
  }
  return undefined;
}

const passes = (error: unknown): boolean => !isProgramError(error) && !isRefusedLastingly(error);

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

/** The fields of an entry of a stream of events; one that is missing is '' or 0. */
export interface EventFields {
  readonly text: (name: string) => string;
  readonly number: (name: string) => number;
}

/** Reads an entry of a stream; undefined for an event that this version does not know. */
export type EventOf<Event> = (cursor: string, fields: EventFields) => Event | undefined;

/** Events of one read, and the cursor for the next one. */
export interface EventsPage<Event> {
  readonly events: readonly Event[];
  readonly cursor: string;
}

/** An entry of a stream as the client returns it. */
export type StreamEntry = readonly [id: string, fields: readonly string[]];

/**
 * Events after a cursor, without waiting; for polling.
 *
 * @param after cursor of the last known event; if undefined, returns no events and the newest cursor
 * @param count events at most
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readEvents<Event>(
  client: RedisClient,
  stream: string,
  eventOf: EventOf<Event>,
  after: string | undefined,
  count: number,
): Promise<EventsPage<Event>> {
  try {
    if (after === undefined) return { events: [], cursor: await lastCursor(client, stream) };
    const entries = await client.xrange(stream, `(${after}`, '+', 'COUNT', count);
    const events = entries.map(([id, fields]) => eventOf(id, fieldsOf(fields)));
    const cursor = entries.at(-1)?.[0] ?? after;
    return { events: events.filter((event) => event !== undefined), cursor };
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Cursor of the newest event; '0' where there is none. */
async function lastCursor(client: RedisClient, stream: string): Promise<string> {
  const [last] = await client.xrevrange(stream, '+', '-', 'COUNT', 1);
  return last?.[0] ?? '0';
}

/** The fields of an entry, from their flat list. */
function fieldsOf(list: readonly string[]): EventFields {
  const fields = new Map<string, string>();
  for (let index = 0; index + 1 < list.length; index += 2) {
    fields.set(list[index] ?? '', list[index + 1] ?? '');
  }
  return {
    text: (name) => fields.get(name) ?? '',
    number: (name) => Number(fields.get(name) ?? 0),
  };
}
