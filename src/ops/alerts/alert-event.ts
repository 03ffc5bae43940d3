/**
 * What people are told of without looking. One row per alert: what it means, and what to do about it.
 * docs/alerts.md and docs/operating.md are held to this table.
 */
export const ALERTS = {
  'hold.begun': {
    meaning: 'the whole queue stands still',
    remedy: 'see the remedy that the alert names',
  },
  'hold.ended': {
    meaning: 'the queue flows again',
    remedy: 'nothing is to be done',
  },
  'batch.finished': {
    meaning: 'nothing of a batch is pending any more',
    remedy: 'look at what was not accepted with "notices failures BATCH"',
  },
  'batch.stalled': {
    meaning: 'a batch did not move although nothing held it; its jobs were queued anew',
    remedy: 'see that workers run; "notices batch BATCH" says why it stands',
  },
  'unknown.appeared': {
    meaning: 'notices or contacts of batches may have been taken by the service, or not',
    remedy: 'look them up at the service and decide with "notices unknown" and "notices resolve"',
  },
  'retention.near': {
    meaning: 'what failed is about to be deleted, and nobody has decided about it',
    remedy: 'export or redrive it with "notices failures" and "notices redrive"',
  },
  'memory.near': {
    meaning: 'Redis is running out of memory; when it is full, nothing more can be queued',
    remedy: 'raise maxmemory, or lower HIGH_WATER and the retention of what is kept',
  },
  'memory.eased': {
    meaning: 'Redis has room again',
    remedy: 'nothing is to be done',
  },
  'workers.none': {
    meaning: 'no worker is running although notices wait',
    remedy: 'start one with "notices worker"',
  },
  'workers.back': {
    meaning: 'a worker runs again after a time in which nobody did',
    remedy: 'find out why there was none: the end of the log of the last one says it',
  },
  test: {
    meaning: 'somebody tried whether alerts arrive',
    remedy: 'nothing is to be done',
  },
} as const satisfies Record<string, { meaning: string; remedy: string }>;

/** Name of an alert. */
export type AlertName = keyof typeof ALERTS;

/** What is to be told; delivery adds id and time. */
export interface AlertDraft {
  readonly event: AlertName;
  /** One sentence for a person. */
  readonly title: string;
  readonly remedy: string;
  /** How often it came and went in the quiet period before, untold. */
  readonly repeated?: number;
  /** Figures and names, by event (docs/alerts.md); never a phone number, a variable or a secret. */
  readonly data: Readonly<Record<string, string | number>>;
}

/** The body of a post. */
export interface AlertEvent extends AlertDraft {
  readonly version: 1;
  /** The same each time the alert is posted: a receiver drops what it has seen. */
  readonly id: string;
  /** REDIS_PREFIX and ACCOUNT, with a colon between them. */
  readonly queue: string;
  /** When it was noticed: ISO 8601. */
  readonly at: string;
}
