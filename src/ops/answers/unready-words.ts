/** What the reasons for which a worker is not ready mean (workers/health/readiness.ts). */
const WORDS: Readonly<Record<string, string>> = {
  'redis-away': 'it has no connection to Redis',
  'redis-unsuitable': 'Redis could lose notices',
  'copy-unchecked': 'it is starting: it checks that Redis is not an old copy',
  stalled: 'it takes no jobs although some wait',
  'event-loop': 'its event loop was blocked',
  'payload-key': 'it does not have the key with which contacts are encrypted (PAYLOAD_KEY)',
  alone: 'its requests fail, and those of other workers do not',
  stopping: 'it is shutting down',
};

/** A reason for which a worker is not ready, as a clause; one that is not known as it is. */
export const unreadyWords = (reason: string): string => WORDS[reason] ?? reason;
