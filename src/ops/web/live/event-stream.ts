import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { FeedEvent, FeedFilter, LiveFeed } from './feed.ts';

/** A listener that reads so slowly that this much waits for it is dropped; it may come again. */
const MAX_WAITING_BYTES = 1_048_576;

/** Then the stream ends, and the browser comes again: to be asked anew who it is. */
const MAX_STREAM_MS = 3_600_000;

/**
 * Answers with server-sent events until the caller leaves, the session ends or the server closes.
 *
 * @param until milliseconds since the epoch at which the caller's identity ends
 * @param stillIn whether the caller has not signed out meanwhile
 * @throws TooManyRequests, before anything is written
 */
export function streamEvents(
  reply: FastifyReply,
  feed: LiveFeed,
  question: FeedFilter,
  until: number,
  stillIn: () => boolean,
): void {
  const { raw } = reply;
  const end = Math.min(until, Date.now() + MAX_STREAM_MS);
  const tell = ({ event, data }: FeedEvent) => {
    if (raw.destroyed || Date.now() >= end || !stillIn()) return false;
    raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    return raw.writableLength < MAX_WAITING_BYTES;
  };
  const leave = feed.listen({ ...question, tell, end: () => raw.end() });
  reply.hijack();
  raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream; charset=utf-8',
    // Proxies that gather answers would hold the events back.
    'x-accel-buffering': 'no',
  });
  raw.write('retry: 2000\n\n');
  raw.on('close', leave);
}
