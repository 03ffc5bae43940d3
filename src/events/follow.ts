import { z } from 'zod';
import { Cancellation, pause } from '../async/cancellation.ts';
import { parseInput } from '../contracts/parse-input.ts';
import type { CancelSignal } from '../contracts/token.ts';
import { connectRedis, type RedisClient, type RedisSettings } from '../redis/connect.ts';
import { isProgramError, isRefusedLastingly, redisFailure, translated } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { eventOf, givenCursor, type AccountEvent, type StreamEntry } from './event.ts';

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
    from: givenCursor.optional(),
    signal: z.instanceof(AbortSignal, { error: 'expected an AbortSignal' }).optional(),
  },
  'expected an options object',
);

/** @throws InputError CONFIG_INVALID */
export function readEventsOptions(options: EventsOptions): EventsOptions {
  return parseInput(optionsSchema, options, 'CONFIG_INVALID', '', 'options');
}

/** How long one read waits in Redis. Its reply also shows that the connection works. */
const BLOCK_MS = 5_000;

const EVENTS_PER_READ = 200;

/** Pause before a read is repeated that Redis refused for a reason that passes, in milliseconds. */
const REPEAT_PAUSE_MS = 500;

/**
 * Events of the account, in order. Waits for more until the loop is left or a signal aborts. An outage of
 * Redis and a failover only delay events. Each iteration opens its own connection.
 *
 * @param closing ends the iteration like the signal of the options
 * @param silenceMs reconnect after this time without a reply
 * @throws InputError CONFIG_INVALID at once; while iterating NoticeQueueError QUEUE_UNAVAILABLE or
 *   QUEUE_REFUSED if Redis replies with an error that does not pass by itself
 */
export function accountEvents(
  redis: RedisSettings,
  { events }: Pick<Keys, 'events'>,
  options: EventsOptions = {},
  closing?: AbortSignal,
  silenceMs = 3 * BLOCK_MS,
): AsyncGenerator<AccountEvent, void, undefined> {
  const { from, signal } = readEventsOptions(options);
  return follow(redis, events, from, new Cancellation(signal, closing), silenceMs);
}

async function* follow(
  redis: RedisSettings,
  stream: string,
  from: string | undefined,
  signal: CancelSignal,
  silenceMs: number,
): AsyncGenerator<AccountEvent, void, undefined> {
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
      for (const entry of entries) {
        [cursor] = entry;
        const event = eventOf(entry);
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

/**
 * Events after a cursor, without waiting, and the cursor for the next ones.
 *
 * @param count events at most
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readAccountEvents(
  client: RedisClient,
  { events: stream }: Pick<Keys, 'events'>,
  after: string,
  count: number,
): Promise<{ readonly events: readonly AccountEvent[]; readonly cursor: string }> {
  const entries = await translated(client.xrange(stream, `(${after}`, '+', 'COUNT', count));
  const events = entries.map(eventOf).filter((event) => event !== undefined);
  return { events, cursor: entries.at(-1)?.[0] ?? after };
}

/** Cursor of the newest event; '0' where there is none. */
async function lastCursor(client: RedisClient, stream: string): Promise<string> {
  const [last] = await client.xrevrange(stream, '+', '-', 'COUNT', 1);
  return last?.[0] ?? '0';
}
