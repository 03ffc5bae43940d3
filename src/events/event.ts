import * as z from 'zod';
import type { Answer } from '../contracts/answer.ts';
import { holdKind } from '../contracts/hold.ts';
import { END_STATES } from '../contracts/outcome.ts';
import { recordOf, storedJson } from '../redis/stored-json.ts';

/** What every event has. No event contains a phone number, a variable or a secret. */
interface EventHead {
  /** Position of this event: pass it as `from` to continue after this event. */
  readonly cursor: string;
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
}

/** A cursor that a caller gives. */
export const givenCursor = z
  .string('expected the cursor of an event')
  .regex(/^\d{1,19}(-\d{1,19})?$/, "expected the cursor of an event, or '0'");

const NOTICE_STATES = [...END_STATES, 'pending'] as const;

/**
 * A single notice; written with NOTICE_EVENTS.
 *
 * - `notice.ended`: it has ended in `state`. An operator's decision on an unknown outcome is another end.
 * - `notice.redriven`: it is sent again, by an operator or because its template is held; it ends again.
 */
export interface NoticeEvent extends EventHead {
  readonly event: 'notice.ended' | 'notice.redriven';
  /** Id of the notice, as in its receipt. */
  readonly notice: string;
  readonly state: (typeof NOTICE_STATES)[number];
  /** The code of the service, or one of `ERROR_CODES`; absent where there is none. */
  readonly code?: string;
}

const [aText, aNumber] = [z.string().catch(''), z.coerce.number().catch(0)];

const ofContacts = {
  batch: aText,
  failure: aText.describe('name of the failure in the batch: `<chunk>` or `<chunk>.<part>`'),
  contacts: aNumber,
};

/** Every event of a batch, as it is stored: its values are texts. */
const batchEvent = z.discriminatedUnion('event', [
  z.object({
    event: z.literal('batch.finished'),
    batch: aText,
    phase: z.enum(['finished', 'cancelled']).catch('finished'),
    total: aNumber.describe('contacts of the batch; the six counts below add up to it'),
    accepted: aNumber,
    rejected: aNumber,
    unknown: aNumber.describe('the service may or may not have accepted them'),
    expired: aNumber.describe('not sent before `expiresAt`'),
    cancelled: aNumber,
    suppressed: aNumber.describe('on the do-not-send list'),
    possiblySentTwice: aNumber.describe(
      'sent again after an unknown outcome: the most messages that can have arrived twice',
    ),
  }),
  z.object({ event: z.literal('batch.stalled'), batch: aText, pending: aNumber }),
  z.object({
    event: z.literal('batch.refused'),
    batch: aText,
    rejected: aNumber,
    code: aText.describe('code of the service for the last of them'),
  }),
  z.object({
    event: z.literal('contact.rejected'),
    ...ofContacts,
    rows: aText.describe('such as `2-5,9`; empty where they are not known, or many'),
    code: aText,
  }),
  z.object({ event: z.literal('contact.redriven'), ...ofContacts }),
]);

type BatchEvent<Kind> = EventHead & Extract<Answer<z.output<typeof batchEvent>>, { event: Kind }>;

/** No contact of the batch is pending any more. A redrive reopens the batch; then it finishes again. */
export type BatchFinished = BatchEvent<'batch.finished'>;

/** Nothing changed for a while although contacts are pending; their jobs were queued again. */
export type BatchStalled = BatchEvent<'batch.stalled'>;

/** Contacts of the batch were rejected and none was accepted. Written once, when the number is reached. */
export type BatchRefused = BatchEvent<'batch.refused'>;

/** The service rejected contacts and they are not retried: a single contact, or a whole chunk. */
export type ContactRejected = BatchEvent<'contact.rejected'>;

/** Rejected contacts are sent again, by an operator or because their template is held: it takes `contact.rejected` back. */
export type ContactRedriven = BatchEvent<'contact.redriven'>;

const held = {
  kind: holdKind,
  template: aText.describe('empty where all is held'),
  since: aNumber,
};

/** Every finding of the watch, as it is stored. */
const watchFinding = z.discriminatedUnion('event', [
  z.object({ event: z.literal('hold.begun'), ...held, code: aText }),
  z.object({ event: z.literal('hold.ended'), ...held }),
  z.object({ event: z.enum(['workers.none', 'workers.back']), waiting: aNumber }),
  z.object({ event: z.enum(['waiting.long', 'waiting.short']), waitedMs: aNumber }),
  z.object({
    event: z.enum(['unknown.many', 'unknown.few']),
    notices: aNumber,
    contacts: aNumber,
  }),
  z.object({
    event: z.enum(['memory.near', 'memory.eased']),
    usedBytes: aNumber,
    limitBytes: aNumber,
  }),
]);

/** A finding of the watch, before it is in the stream. */
export type WatchFinding = Answer<z.output<typeof watchFinding>>;

/** What the watch found (watch.ts): a condition of the account started or ended. */
export type WatchEvent = EventHead & WatchFinding;

/** An event of the account; `event` tells which kind it is. */
export type AccountEvent =
  | NoticeEvent
  | BatchFinished
  | BatchStalled
  | BatchRefused
  | ContactRejected
  | ContactRedriven
  | WatchEvent;

/** An entry of the stream of events as the client returns it: its id, and names and values of its fields. */
export type StreamEntry = readonly [id: string, fields: readonly string[]];

/** Reads an entry; undefined for one that this version does not know. A field that is missing is '' or 0. */
export function eventOf([cursor, list]: StreamEntry): AccountEvent | undefined {
  const values = recordOf(list);
  const head = { cursor, at: Number.parseInt(cursor, 10) };
  const { event, finding, notice = '', code = '' } = values;
  if (event === 'watch') {
    const found = storedJson(watchFinding, finding);
    return found && { ...head, ...found };
  }
  if (event !== undefined) {
    const { data } = batchEvent.safeParse(values);
    return data && { ...head, ...data };
  }
  // The entries of notices are the most, and have no field for it.
  const state = NOTICE_STATES.find((one) => one === values['state']);
  if (state === undefined) return undefined;
  return {
    ...head,
    event: state === 'pending' ? 'notice.redriven' : 'notice.ended',
    notice,
    state,
    ...(code === '' ? {} : { code }),
  };
}
