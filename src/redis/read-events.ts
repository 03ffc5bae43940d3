import type { RedisClient } from './connect.ts';
import { redisFailure } from './failure.ts';

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
export async function lastCursor(client: RedisClient, stream: string): Promise<string> {
  const [last] = await client.xrevrange(stream, '+', '-', 'COUNT', 1);
  return last?.[0] ?? '0';
}

/** The fields of an entry, from their flat list. */
export function fieldsOf(list: readonly string[]): EventFields {
  const fields = new Map<string, string>();
  for (let index = 0; index + 1 < list.length; index += 2) {
    fields.set(list[index] ?? '', list[index + 1] ?? '');
  }
  return {
    text: (name) => fields.get(name) ?? '',
    number: (name) => Number(fields.get(name) ?? 0),
  };
}
