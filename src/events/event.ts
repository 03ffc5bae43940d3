import * as z from 'zod';
import type { Answer } from '../contracts/answer.ts';
import { holdKind } from '../contracts/hold.ts';
import { END_STATES } from '../contracts/outcome.ts';
import { storedJson } from '../redis/stored-json.ts';

/** The fields of every event. No event contains a phone number, a variable or a secret. */
interface EventHead {
  /** Position of this event: pass it as `from` to continue after this event. */
  readonly cursor: string;
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
}

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

/** No contact of the batch is pending any more. A redrive reopens the batch; then it finishes again. */
export interface BatchFinished extends EventHead {
  readonly event: 'batch.finished';
  readonly batch: string;
  readonly phase: 'finished' | 'cancelled';
  /** Contacts of the batch; the six counts below add up to it. */
  readonly total: number;
  readonly accepted: number;
  readonly rejected: number;
  /** Contacts of which it is not known whether the service accepted them. */
  readonly unknown: number;
  /** Contacts not sent before `expiresAt`. */
  readonly expired: number;
  readonly cancelled: number;
  /** Contacts on the do-not-send list. */
  readonly suppressed: number;
  /** Contacts sent again after an unknown outcome: the most messages that can have arrived twice. */
  readonly possiblySentTwice: number;
}

/** Nothing changed for a while although contacts are pending; their jobs were queued again. */
export interface BatchStalled extends EventHead {
  readonly event: 'batch.stalled';
  readonly batch: string;
  readonly pending: number;
}

/** Contacts of the batch were rejected and none was accepted. Written once, when the number is reached. */
export interface BatchRefused extends EventHead {
  readonly event: 'batch.refused';
  readonly batch: string;
  readonly rejected: number;
  /** The service's code for the last of them. */
  readonly code: string;
}

/** The service rejected contacts and they are not retried: a single contact, or a whole chunk. */
export interface ContactRejected extends EventHead {
  readonly event: 'contact.rejected';
  readonly batch: string;
  /** Name of the failure in the batch: `<chunk>` or `<chunk>.<part>`. */
  readonly failure: string;
  readonly contacts: number;
  /** Their rows in the list, such as `2-5,9`; empty where they are not known, or many. */
  readonly rows: string;
  readonly code: string;
}

/** Rejected contacts are sent again, by an operator or because their template is held: it takes `contact.rejected` back. */
export interface ContactRedriven extends EventHead {
  readonly event: 'contact.redriven';
  readonly batch: string;
  /** As in `contact.rejected`. */
  readonly failure: string;
  readonly contacts: number;
}

/** What the watch found (watch.ts): a condition of the account has begun or ended. */
export type WatchEvent = EventHead & WatchFinding;

const [aText, aNumber] = [z.string().catch(''), z.number().catch(0)];
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

/** An event of the account; `event` tells which kind it is. */
export type AccountEvent =
  | NoticeEvent
  | BatchFinished
  | BatchStalled
  | BatchRefused
  | ContactRejected
  | ContactRedriven
  | WatchEvent;

/** The fields of the events of batches, by kind. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  'batch.finished': ['batch', 'phase', 'total', ...END_STATES, 'possiblySentTwice'],
  'batch.stalled': ['batch', 'pending'],
  'batch.refused': ['batch', 'rejected', 'code'],
  'contact.rejected': ['batch', 'failure', 'contacts', 'rows', 'code'],
  'contact.redriven': ['batch', 'failure', 'contacts'],
};

const TEXTS: ReadonlySet<string> = new Set(['batch', 'phase', 'failure', 'rows', 'code']);

/** An entry of the stream of events as the client returns it: its id, and names and values of its fields. */
export type StreamEntry = readonly [id: string, fields: readonly string[]];

/** Reads an entry; undefined for one that this version does not know. A field that is missing is '' or 0. */
export function eventOf([cursor, list]: StreamEntry): AccountEvent | undefined {
  const values = new Map<string, string>();
  for (let index = 0; index + 1 < list.length; index += 2) {
    values.set(list[index] ?? '', list[index + 1] ?? '');
  }
  const text = (name: string) => values.get(name) ?? '';
  const head = { cursor, at: Number.parseInt(cursor, 10) };
  const event = text('event');
  // The entries of notices are the most, and have no field for it.
  if (event === '') return noticeEventOf(head, text);
  if (event === 'watch') {
    const found = storedJson(watchFinding, text('finding'));
    return found && { ...head, ...found };
  }
  const fields = Object.hasOwn(FIELDS, event) ? FIELDS[event] : undefined;
  if (fields === undefined) return undefined;
  const read = fields.map((name) => [name, TEXTS.has(name) ? text(name) : Number(text(name))]);
  return { ...head, event, ...Object.fromEntries(read) } as AccountEvent;
}

function noticeEventOf(head: EventHead, text: (name: string) => string): NoticeEvent | undefined {
  const state = NOTICE_STATES.find((one) => one === text('state'));
  const code = text('code');
  if (state === undefined) return undefined;
  return {
    ...head,
    event: state === 'pending' ? 'notice.redriven' : 'notice.ended',
    notice: text('notice'),
    state,
    ...(code === '' ? {} : { code }),
  };
}
