import { z } from 'zod';
import {
  failedParts,
  groupFailures,
  groupsOf,
  type FailedContacts,
  type FailedState,
  type FailureFilter,
  type FailureGroup,
  type SomeContacts,
} from '../batch/failures/failures.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { Answer } from '../contracts/answer.ts';
import type { Contact } from '../contracts/notice.ts';
import { formsOf } from '../format/country.ts';
import { endedNotices, readEnded, type EndedNotice, type EndedRange } from '../notices/ended.ts';
import { noticeId } from '../notices/notice-ref.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { decodeContacts } from '../payload/chunk-payload.ts';
import { batchSeal, NO_SEALING } from '../payload/seal.ts';
import { contactsOfJob } from '../payload/sealed-job.ts';
import { redisFailure } from '../redis/failure.ts';
import * as field from './operations/fields.ts';

/*
 * What was not accepted: the entries of single notices, and the failures of batches. One selection serves to list, to
 * export and to decide on all of them.
 */

/** States of single notices that wait for a decision. */
export const FAILED_NOTICE_STATES = ['rejected', 'unknown'] as const;

/** What is decided on: one state at a time. */
export const decidable = field
  .oneOf(['rejected', 'unknown', 'expired'])
  .describe('those in this state');

/** What selects notices and contacts that were not accepted. */
export const selectFields = {
  batch: field.batchId
    .optional()
    .describe('only of this batch. Default: single notices, and unknown contacts of all batches'),
  ids: z.array(noticeId).min(1).max(500).optional().describe('only these single notices'),
  single: z.boolean().optional().describe('only single notices, no contacts of batches'),
  possiblySent: z
    .boolean()
    .optional()
    .describe('only what may have arrived: single notices, and unknown contacts of batches'),
  code: field.code,
  template: field.template.optional().describe('only with this template code'),
  ...field.timesOf('what failed'),
  number: field.number
    .optional()
    .describe(
      'only this phone number. Of a batch only its contacts are selected; a single notice as a whole',
    ),
};

/** Selects what was not accepted; a field that is undefined matches all. */
export type EntrySelect = FailureFilter & Answer<z.output<z.ZodObject<typeof selectFields>>>;

/** Where they are read. The sealing is needed to select encrypted ones by number. */
export interface EntrySource extends NoticeSource {
  readonly ledger: Ledger;
}

export type FailedNotice = EndedNotice & { readonly state: FailedState };

const isInTime = ({ before = Infinity, since = 0 }: EntrySelect, at: number): boolean =>
  at < before && at >= since;

/** States of single notices that a selection matches. */
export const statesIn = ({ state }: EntrySelect): readonly FailedState[] =>
  state === undefined ? FAILED_NOTICE_STATES : [state];

/**
 * The single notices that match, in pages: named ones in the order of their ids, others the newest first. What ends
 * meanwhile is not among them.
 *
 * @param range how many are read at most, whether they match or not, and from which end
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED, or PAYLOAD_UNREADABLE where they are selected by number
 */
export async function* noticesIn(
  { redis, keys, sealing }: NoticeSource,
  select: EntrySelect,
  range: Pick<EndedRange, 'most' | 'oldestFirst'> = {},
): AsyncGenerator<readonly FailedNotice[]> {
  const { ids, batch, code, template, before, since, number, possiblySent } = select;
  if (batch !== undefined) return;
  const states = statesIn(select);
  const isSelected = (one: EndedNotice): one is FailedNotice =>
    states.some((state) => state === one.state) &&
    (code === undefined || one.code === code) &&
    (template === undefined || one.template === template) &&
    isInTime(select, one.at) &&
    (possiblySent !== true || one.possiblySent > 0) &&
    (number === undefined ||
      withNumber(number, contactsOfJob(one.data, one.id, sealing)).length > 0);
  try {
    if (ids !== undefined) {
      yield (await readEnded(redis, keys, [...new Set(ids)])).filter(isSelected);
      return;
    }
    for await (const page of endedNotices(redis, keys, states, { before, since, ...range })) {
      yield page.filter(isSelected);
    }
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Those of the contacts that have the number. */
export function withNumber<Of extends Contact>(
  number: string | undefined,
  contacts: readonly Of[],
): Of[] {
  if (number === undefined) return [...contacts];
  const forms = formsOf(number);
  return contacts.filter(({ contact }) => forms.includes(contact));
}

/** The batches that a selection can match, the newest first. */
export async function* batchesIn(
  { ledger }: Pick<EntrySource, 'ledger'>,
  { ids, single, batch, state = 'unknown' }: EntrySelect,
): AsyncGenerator<Batch> {
  if (single === true || ids !== undefined) return;
  if (batch !== undefined) {
    const found = await ledger.read(batch);
    if (found !== undefined) yield found;
  } else if (state === 'unknown') yield* ledger.withUnknown();
}

/** What is selected of a batch by state and code. */
const filterOf = ({ batch, state, code }: EntrySelect): FailureFilter => ({
  state: batch === undefined ? 'unknown' : state,
  code,
});

const hasTemplate = ({ template }: EntrySelect, { templateCode }: Batch): boolean =>
  template === undefined || template === templateCode;

/** Contacts of a batch that were not accepted. With a number only those that have it, and the others beside them. */
export interface BatchPart extends FailedContacts {
  readonly some?: SomeContacts;
}

/**
 * What matches of a batch.
 *
 * @throws NoticeQueueError PAYLOAD_UNREADABLE where it is selected by number and cannot be decrypted
 */
export async function* partsIn(
  source: Pick<EntrySource, 'ledger' | 'sealing'>,
  batch: Batch,
  select: EntrySelect,
): AsyncGenerator<BatchPart> {
  if (!hasTemplate(select, batch)) return;
  const { number } = select;
  for await (const part of failedParts(source.ledger, batch, filterOf(select))) {
    if (!isInTime(select, part.at)) continue;
    if (number === undefined) {
      yield part;
      continue;
    }
    const contacts = (await contactsOfPart(source, batch, part.name)) ?? [];
    const some = withNumber(number, contacts);
    const rest = contacts.filter((contact) => !some.includes(contact));
    if (some.length > 0) yield { ...part, size: some.length, some: { taken: some, rest } };
  }
}

/** The contacts of a failure; undefined where they are deleted. */
export async function contactsOfPart(
  { ledger, sealing = NO_SEALING }: Pick<EntrySource, 'ledger' | 'sealing'>,
  { id }: Pick<Batch, 'id'>,
  name: string,
): Promise<Contact[] | undefined> {
  const payload = await ledger.payload(id, name);
  return payload && decodeContacts(payload, batchSeal(sealing, id));
}

/** What matches of a batch, by state and code: from its counters, unless a number or a time needs its failures. */
export async function groupsIn(
  source: Pick<EntrySource, 'ledger' | 'sealing'>,
  batch: Batch,
  select: EntrySelect,
): Promise<FailureGroup[]> {
  const { number, before, since } = select;
  if ((number ?? before ?? since) === undefined) {
    return hasTemplate(select, batch) ? groupFailures(source.ledger, batch, filterOf(select)) : [];
  }
  const found: FailureGroup[] = [];
  for await (const { state, code, size: contacts, message } of partsIn(source, batch, select)) {
    found.push({ state, code, contacts, message });
  }
  return groupsOf(found);
}
