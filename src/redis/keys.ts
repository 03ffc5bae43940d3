import { createHash } from 'node:crypto';

/*
 * Every Redis key this program owns, with its lifetime. All keys of one account begin with one tag.
 * BullMQ's own keys have the same tag, as `<tag>:send:*` and `<tag>:chunks:*`; in the hash of a job, the
 * fields `notices:*` are ours.
 *
 * | key | type | holds | lifetime |
 * |---|---|---|---|
 * | `<tag>:token:<pair>` | string | the token record as JSON (token-scripts.ts): the sealed token, who issues, refusals, issuances | forever (some 10 kB) |
 * | `<tag>:hold` | hash | the holds of the queue and of templates, and who lifted the last one (hold-scripts.ts) | until lifted; without one some 100 bytes forever |
 * | `<tag>:history` | hash | what is remembered of jobs in trouble, and the intents of at-most-once notices (job-history.ts) | until the end of the job is recorded |
 * | `<tag>:rate-limit` | hash | the manual and configured rate limit, the last decrease, the time of the next permit | forever (some 200 bytes) |
 * | `<tag>:batches` | sorted set | ids of batches by start time | with the batch |
 * | `<tag>:list:<digest>` | sorted set | batches of this list, by the end of their retention | with the last of them |
 * | `<tag>:batch:<id>` | hash | a batch: what to send, settings, counters | KEEP_FAILED_MS after its end |
 * | `<tag>:batch:<id>:chunks` | string | four bits for the state of each chunk | with the batch |
 * | `<tag>:batch:<id>:payload` | hash | the contacts of each chunk, compressed | accepted: until settled; else with the batch |
 * | `<tag>:batch:<id>:sizes` | hash | contacts of the chunks that are not of full size; how many parts of a chunk failed, how often it was possibly sent, and what became of rows whose contacts are deleted | with the batch |
 * | `<tag>:batch:<id>:inflight` | hash | the attempt that has claimed a chunk | until settled |
 * | `<tag>:batch:<id>:failures` | hash | code, message and time of each chunk that was not accepted | with the batch |
 * | `<tag>:batch:<id>:groups` | hash | the same, summed up by state and code | with the batch |
 * | `<tag>:batch:<id>:import` | string | the import of the batch is running | 5 s, renewed each second |
 * | `<tag>:batch:<id>:find` | hash | fingerprints of each chunk's numbers, with FIND_KEY | KEEP_FAILED_MS after its last chunk was stored |
 * | `<tag>:batch:<id>:numbers` | hash | prints of the numbers of a list, in pieces (src/number-index), with REPEAT_WINDOW | REPEAT_WINDOW after the import |
 * | `<tag>:list:recent:<template>` | sorted set | batches of lists of a template, by their start | REPEAT_WINDOW after the last import |
 * | `<tag>:find:<day>:<bucket>` | sorted set | hashes of numbers with the jobs of single notices, with FIND_KEY | KEEP_FAILED_MS and a day after its last entry |
 * | `<tag>:events` | stream | events of the account: ends of notices and batches, holds, findings of the watch | the last NOTICE_EVENTS, but at least 10,000 |
 * | `<tag>:batches:open` | sorted set | ids of the batches that may need jobs, by the time of the next look | until the batch is paused or has ended |
 * | `<tag>:batches:unknown` | sorted set | unknown contacts of each batch that has any | until it is read after the end of the batch |
 * | `<tag>:intents:accepted` | sorted set | the notices with an accepted intent, oldest first | with it |
 * | `<tag>:ended` | hash | single notices that were not accepted (src/notices/ended.ts) | KEEP_FAILED_MS after their end, or until they are sent again or deleted |
 * | `<tag>:ended:at:<state>` | sorted set | their ids by the time of their end; under `again` those that are being put back into the queue | with them |
 * | `<tag>:epoch` | hash | count of heartbeats, and the last time Redis looked like an old copy (epoch.ts) | forever (some 500 bytes) |
 * | `<tag>:account` | hash | random secret for keyed hashes in ids of jobs and digests of lists, encrypted with each key that producers use; how long the worker that started last keeps ended notices, and its sending hours | forever (some 300 bytes) |
 * | `<tag>:counts` | hash | contacts of batches that wait in Redis; contacts that were sent again after an unknown outcome, by lane | forever (some 100 bytes) |
 * | `<tag>:turns` | hash | what one process of the fleet does at a time, by whom and until when (turns.ts); conditions that were reported, and the cursor of the webhook | forever (some kB) |
 * | `<tag>:suppress` | hash | how many numbers are on the do-not-send list, and the random key of their hashes, encrypted with each PAYLOAD_KEY (src/suppression) | until the last is removed |
 * | `<tag>:suppress:<bucket>` | hash | numbers of that list, as keyed hashes, with the reason and the minute | until they are removed |
 * | `<tag>:done:<nonce>` | string | mark of a request that is done, so that it can be repeated | ten minutes |
 * | `<tag>:audit` | stream | changes: holds, resolutions, rate limits, sends by hand (audit.ts) | 90 days, about 1,000,000 at most |
 * | `<tag>:audit:reads` | stream | searches and downloads | 90 days, about 1,000,000 at most |
 * | `<tag>:ops:sessions` | hash | the last sign-in of each user of the ops servers (sessions.ts) | forever (some 150 bytes a user) |
 * | `<tag>:workers` | hash | worker processes: time of the last heartbeat, host, pid, version, jobs in flight, as JSON | three heartbeats |
 * | `<tag>:traffic:<hour>` | hash | requests, and contacts by outcome, of each minute and lane | four hours |
 */

/** How long a request that is done is remembered ({@link Keys.done}): longer than a connection takes to be reopened. In milliseconds. */
export const DONE_MS = 600_000;

/** Events that are kept at least, also without NOTICE_EVENTS. */
export const LEAST_EVENTS = 10_000;

/** Name of the BullMQ queue of single notices. The account is in the prefix. */
export const QUEUE_NAME = 'send';

/** Name of the BullMQ queue of batches' chunks: a separate lane, so that neither lane waits for the other. */
export const CHUNK_QUEUE_NAME = 'chunks';

/** Names of BullMQ's lists and sorted sets of jobs. */
export type NoticeList =
  'wait' | 'paused' | 'active' | 'prioritized' | 'delayed' | 'completed' | 'failed';

/** The states in which a single notice has an entry; `again`: it is being put back into the queue. */
export type EndedIndex =
  'rejected' | 'unknown' | 'expired' | 'cancelled' | 'suppressed' | 'accepted' | 'again';

export type Keys = Readonly<ReturnType<typeof keysOf>>;

export type TokenKeys = Readonly<ReturnType<Keys['token']>>;

/** The keys of one account. */
export function keysOf(prefix: string, account: string) {
  const tag = `{${prefix}:${account}}`;
  return {
    /** BullMQ's `prefix`; with {@link QUEUE_NAME} it makes the queue's keys. */
    bullPrefix: tag,
    /** BullMQ's rate-limit keys, one for each queue: a hold sets them so that no worker fetches jobs. */
    limiter: `${tag}:${QUEUE_NAME}:limiter`,
    chunkLimiter: `${tag}:${CHUNK_QUEUE_NAME}:limiter`,
    hold: `${tag}:hold`,
    /** Channel: hints that a hold was placed, extended or lifted. */
    holdHints: `${tag}:hold:hints`,
    history: `${tag}:history`,
    rateLimit: `${tag}:rate-limit`,
    /** Channel: hints that the rate limit was set manually or decreased. */
    rateLimitHints: `${tag}:rate-limit:hints`,
    epoch: `${tag}:epoch`,
    workers: `${tag}:workers`,
    /** @param hour hours since the epoch */
    traffic: (hour: number) => `${tag}:traffic:${hour}`,
    token: (pair: string) => {
      const record = `${tag}:token:${pair}`;
      return {
        record,
        /** Of the account: has when a person lifted a hold. Refused issuances from before that are over. */
        hold: `${tag}:hold`,
        holdHints: `${tag}:hold:hints`,
        /** Channel: hints that a token was stored or an issuance refused. */
        hints: `${record}:hints`,
      };
    },
    batches: `${tag}:batches`,
    events: `${tag}:events`,
    openBatches: `${tag}:batches:open`,
    unknownContacts: `${tag}:batches:unknown`,
    /** Channel: hints that a batch has chunks without jobs. */
    batchHints: `${tag}:batch-hints`,
    /** In the order in which the ledger's scripts take them. */
    batch: (id: string) => {
      const batch = `${tag}:batch:${id}`;
      return {
        record: batch,
        chunks: `${batch}:chunks`,
        payload: `${batch}:payload`,
        sizes: `${batch}:sizes`,
        inflight: `${batch}:inflight`,
        failures: `${batch}:failures`,
        groups: `${batch}:groups`,
      };
    },
    acceptedIntents: `${tag}:intents:accepted`,
    ended: `${tag}:ended`,
    endedIn: (state: EndedIndex) => `${tag}:ended:at:${state}`,
    /** @param name delivery policy and digest of the head of the list */
    list: (name: string) => `${tag}:list:${name}`,
    batchImport: (id: string) => `${tag}:batch:${id}:import`,
    batchFind: (id: string) => `${tag}:batch:${id}:find`,
    batchNumbers: (id: string) => `${tag}:batch:${id}:numbers`,
    /** Batches of lists of a template, which has this digest, by their start. */
    recentLists: (template: string) => `${tag}:list:recent:${template}`,
    /** The do-not-send list; its buckets are `:<number>` behind it. */
    suppress: `${tag}:suppress`,
    /** Channel: hints that the list is no longer empty. */
    suppressHints: `${tag}:suppress:hints`,
    done: (nonce: string) => `${tag}:done:${nonce}`,
    find: (day: number, bucket: string) => `${tag}:find:${day}:${bucket}`,
    audit: `${tag}:audit`,
    auditReads: `${tag}:audit:reads`,
    sessions: `${tag}:ops:sessions`,
    account: `${tag}:account`,
    counts: `${tag}:counts`,
    turns: `${tag}:turns`,
    /** BullMQ's key of a notice's job; with '' the prefix of all. */
    noticeJob: (jobId: string) => `${tag}:${QUEUE_NAME}:${jobId}`,
    /** BullMQ's lock of a job: its holder may send. */
    noticeLock: (jobId: string) => `${tag}:${QUEUE_NAME}:${jobId}:lock`,
    /** BullMQ's lists (`wait`, `active`) and sorted sets of notices by state. */
    noticesIn: (state: NoticeList) => `${tag}:${QUEUE_NAME}:${state}`,
    delayedChunks: `${tag}:${CHUNK_QUEUE_NAME}:delayed`,
    failedChunks: `${tag}:${CHUNK_QUEUE_NAME}:failed`,
    chunkJob: (jobId: string) => `${tag}:${CHUNK_QUEUE_NAME}:${jobId}`,
    chunkLock: (jobId: string) => `${tag}:${CHUNK_QUEUE_NAME}:${jobId}:lock`,
  };
}

/**
 * Name of a key pair in keys and logs: a hash, never a key. The secret is part of it: what is refused with a wrong one
 * says nothing about a worker with the right one. The API version is not: with two records for one pair, each
 * would invalidate the other's token again and again.
 */
export function pairName({ baseUrl, accessKey, secretKey }: KeyPair): string {
  const text = `${baseUrl}\n${accessKey}\n${secretKey}`;
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

interface KeyPair {
  readonly baseUrl: string;
  readonly accessKey: string;
  readonly secretKey: string;
}
