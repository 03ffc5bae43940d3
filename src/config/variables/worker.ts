import { duration, integer, listenAddress, sendWindows, variable } from '../variable.ts';

/** How workers take jobs from the queue, retry them and stop. */
export const workerVariables = {
  concurrency: variable('CONCURRENCY', integer('requests', 1, 1_000).default(32), {
    description: 'Concurrent send requests with single notices in one process.',
    note: 'Raised: more notices are in flight, and so possibly sent twice, when a process crashes. Lowered: slower.',
  }),
  batchConcurrency: variable('BATCH_CONCURRENCY', integer('chunks', 1, 1_000).default(8), {
    description:
      'Chunks of batches that one process sends concurrently, in addition to CONCURRENCY.',
    note: 'Raised: batches are faster, and more contacts are in flight when a process crashes.',
  }),
  attempts: variable('ATTEMPTS', integer('attempts', 1, 1_000).default(10), {
    description:
      'Attempts of a job before it fails. Holds do not count, except a probe whose outcome is unknown, that is to be repeated, or that others contradict.',
  }),
  unknownResends: variable('UNKNOWN_RESENDS', integer('resends', 0, 100).default(2), {
    description:
      'How often an at-least-once notice or chunk is sent again after its outcome was unknown; then it is listed as unknown. Each resend may deliver it once more. A decision to resend begins to count anew.',
    note: 'Raised: fewer unknown notices after an outage of the service, and more that arrive twice.',
  }),
  unknownAcceptedAfterMs: variable(
    'UNKNOWN_ACCEPTED_AFTER_MS',
    duration(60_000, 31_536_000_000).exactOptional(),
    {
      description:
        'How long an outcome stays unknown before the workers count it as accepted, with an entry in the audit stream. Without it only people decide.',
      note: 'It proves nothing: a lost notice may count as sent.',
    },
  ),
  rateLimit: variable('RATE_LIMIT', integer('send requests per second', 0, 100_000).default(0), {
    description:
      'Maximum number of send requests per second of the whole account, over all workers; 0 sets no limit. `notices rate-limit` changes it while workers run.',
    note: 'Raised above the limit of the service: it responds with 429, and the rate limit decreases by itself. Lowered: slower.',
  }),
  sendWindows: variable('SEND_WINDOWS', sendWindows().exactOptional(), {
    description:
      'Sending hours by template: `PROMO_*=08:00-21:00 Asia/Seoul; NEWS=09:00-12:00,13:00-18:00 Asia/Seoul`, of which the first entry that matches counts; hours may go over midnight. What is due at another time waits for them, whether it is new, tried again or sent again. Without it everything is sent at any time.',
  }),
  keepAcceptedMs: variable('KEEP_ACCEPTED_MS', duration(0, 2_592_000_000).default(3_600_000), {
    description:
      'How long an accepted notice stays in Redis; only the last 10,000 of them are kept. One that is over its time is deleted when the next one ends, or within ten minutes while a worker runs. All others, and batches, have KEEP_FAILED_MS.',
    note: 'Raised: more memory, and phone numbers are kept longer.',
  }),
  noticeEvents: variable('NOTICE_EVENTS', integer('events', 0, 10_000_000).default(0), {
    description:
      'How many events are kept for `NoticeQueue.events()` and the webhook, at least 10,000. Above 0 the ends of single notices are among them. Workers write them: configure the same for all.',
    note: 'Above 0: one command more for the end of each single notice, in the same round trip, and about 70 bytes of memory in Redis for each event. Lowered: a listener that was away longer than this number of events misses some.',
  }),
  health: variable('HEALTH_ADDRESS', listenAddress(0), {
    description:
      'TCP port, or address and port such as 0.0.0.0:9464, on which a worker serves /livez, /readyz and /metrics; port 0 for none. Each process needs a port of its own, or none.',
    note: 'Any client that can connect can read the metrics; in a container use 0.0.0.0 and a private network.',
  }),
};
