import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { FeedEvent, LiveFeed } from './feed.ts';

/** Unread data above which a slow listener is dropped; it may reconnect. */
const MAX_WAITING_BYTES = 1_048_576;

/** Longest duration of a stream; the browser then reconnects and is authenticated again. */
const MAX_STREAM_MS = 3_600_000;

/** How often it is checked whether the session is over. */
const CHECK_MS = 2_000;

/**
 * Answers with server-sent events until the caller disconnects, the session ends or the server closes.
 *
 * @param who name of the caller
 * @param until when the identity of the caller expires, in milliseconds since the epoch
 * @param isOver whether the session of the caller is over; it is asked every few seconds
 * @throws TooManyRequests, before anything is written
 */
export function streamEvents(
  reply: FastifyReply,
  feed: LiveFeed,
  who: string,
  until: number,
  isOver: () => Promise<boolean>,
): void {
  const { raw } = reply;
  const end = Math.min(until, Date.now() + MAX_STREAM_MS);
  const send = ({ event, data }: FeedEvent) => {
    if (raw.destroyed || Date.now() >= end) return false;
    raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    return raw.writableLength < MAX_WAITING_BYTES;
  };
  const stop = feed.listen({ who, send, end: () => raw.end() });
  reply.hijack();
  raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream; charset=utf-8',
    // Keeps proxies from buffering the events.
    'x-accel-buffering': 'no',
  });
  raw.write('retry: 2000\n\n');
  const check = setInterval(() => void isOver().then((over) => over && raw.end()), CHECK_MS);
  raw.on('close', () => {
    clearInterval(check);
    stop();
  });
}
