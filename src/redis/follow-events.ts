import { z } from 'zod';
import { Cancellation, pause } from '../async/cancellation.ts';
import type { CancelSignal } from '../contracts/token.ts';
import { parseInput } from '../contracts/parse-input.ts';
import { connectRedis, type RedisClient, type RedisSettings } from './connect.ts';
import { isProgramError, isRefusedLastingly, redisFailure } from './failure.ts';
import { fieldsOf, lastCursor, type EventOf, type StreamEntry } from './read-events.ts';

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
