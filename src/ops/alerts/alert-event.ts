import type { NoticeEvent } from '../../notices/notice-events.ts';

/**
 * All alerts: what each means, and what to do about it. Tests check docs/alerts.md and
 * docs/operating.md against this table.
 */
export const ALERTS = {
  'hold.begun': {
    meaning: 'the queue is held: nothing is sent',
    remedy: 'follow the remedy in the alert',
  },
  'hold.ended': {
    meaning: 'a hold has ended',
    remedy: 'none needed',
  },
  'batch.finished': {
    meaning: 'a batch has no pending contacts any more',
    remedy: 'list what was not accepted with "notices failures BATCH"',
  },
  'batch.stalled': {
    meaning: 'a batch made no progress although nothing held it; its jobs were queued again',
    remedy: 'check that workers run; "notices batch BATCH" shows why nothing is sent',
  },
  'unknown.appeared': {
    meaning: 'the service may or may not have accepted some notices or contacts of batches',
    remedy: 'look them up at the service and decide: "notices unknown" lists them and says how',
  },
  'retention.near': {
    meaning: 'failed notices or contacts will be deleted soon and are not resolved',
    remedy: 'export or redrive them with "notices failures" and "notices redrive"',
  },
  'memory.near': {
    meaning: 'Redis is running out of memory; when it is full, no notice can be queued',
    remedy: 'raise maxmemory, or lower HIGH_WATER and the retention times',
  },
  'memory.eased': {
    meaning: 'Redis has enough free memory again',
    remedy: 'none needed',
  },
  'workers.none': {
    meaning: 'no worker is running although notices wait',
    remedy: 'start one with "notices worker"',
  },
  'workers.back': {
    meaning: 'a worker is running again after a time without workers',
    remedy: 'find out why none was running: see the end of the log of the last worker',
  },
  'notices.failing': {
    meaning: 'many single notices were rejected, unknown or expired in ten minutes',
    remedy: 'find the reason with "notices failures"; redrive them when it is gone',
  },
  'notices.recovered': {
    meaning: 'few single notices fail again',
    remedy: 'redrive what failed with "notices redrive --notices"',
  },
  'notices.ended': {
    meaning: 'single notices ended; only for the event webhook',
    remedy: 'none needed',
  },
  test: {
    meaning: 'a test of the webhook',
    remedy: 'none needed',
  },
} as const satisfies Record<string, { meaning: string; remedy: string }>;

/** Name of an alert. */
export type AlertName = keyof typeof ALERTS;

/** The alerts that are also events, which the event webhook gets. */
export const EVENT_NAMES: readonly AlertName[] = [
  'hold.begun',
  'hold.ended',
  'batch.finished',
  'notices.ended',
  'test',
];

/** One of the notices of `notices.ended`, in the order of their ends. */
export type EndedNotice = Omit<NoticeEvent, 'cursor' | 'event' | 'at'> & {
  /** ISO 8601 */
  readonly at: string;
};

/** An alert without its id and time. */
export interface AlertDraft {
  readonly event: AlertName;
  /** One sentence for a person. */
  readonly title: string;
  readonly remedy: string;
  /** How often the condition occurred in the quiet period before without an alert; absent where never. */
  readonly repeated?: number;
  /** Details by event (docs/alerts.md); never a phone number, a variable or a secret. */
  readonly data: Readonly<Record<string, string | number | boolean | readonly EndedNotice[]>>;
}

/** The body of a webhook request. */
export interface AlertEvent extends AlertDraft {
  readonly version: 1;
  /** The same in every delivery of the alert, so that receivers can drop duplicates. */
  readonly id: string;
  /** REDIS_PREFIX and ACCOUNT, with a colon between them. */
  readonly queue: string;
  /** When it was detected: ISO 8601. */
  readonly at: string;
}
