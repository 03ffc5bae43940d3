import { z } from 'zod';
import { count, type Answer } from '../contracts/answer.ts';
import { countOf } from '../format/format.ts';

/** Result of an erasure. It contains no number in full. */
export const eraseReport = z.object({
  number: z.string().describe('masked'),
  notices: z.object({
    cancelled: count.describe('jobs that waited; they are never sent'),
    removed: count.describe('jobs that had ended'),
    shortened: count.describe('with contacts of other people, without that of this one'),
  }),
  batches: z.array(
    z.object({
      batch: z.string(),
      waiting: count.describe('chunks that waited, without the contact'),
      ended: count.describe('failures, without the contact'),
    }),
  ),
  index: z
    .object({
      notices: count.describe('entries of single notices'),
      chunks: count.describe('fingerprints'),
    })
    .nullable()
    .describe('null without FIND_KEY: the search index is not changed then'),
  left: z.array(
    z.object({
      notice: z.string().exactOptional(),
      batch: z.string().exactOptional(),
      chunk: count.exactOptional(),
      reason: z.enum(['sending', 'possibly-sent', 'changed']),
    }),
  ),
  unreadable: z
    .object({ notices: count, chunks: count })
    .describe('what could not be decrypted; it may contain the number'),
  importing: z.array(z.string()).describe('batches of which the rest of the list may contain it'),
  stopped: z.boolean().describe('it was stopped: repeat it'),
});
export type EraseReport = z.output<typeof eraseReport>;

/** Contacts that were erased, and entries of the index. */
export function sumOf({ notices, batches, index }: ShownReport) {
  const { cancelled, removed, shortened } = notices;
  const inBatches = batches.reduce((sum, { waiting, ended }) => sum + waiting + ended, 0);
  return {
    contacts: cancelled + removed + shortened + inBatches,
    entries: index === null ? 0 : index.notices + index.chunks,
  };
}

/** What would be erased; nothing where there is nothing. */
export function previewLines(report: ShownReport): string[] {
  const { notices, batches, index, left } = report;
  const { contacts, entries } = sumOf(report);
  if (contacts + entries + left.length === 0) return [];
  const of = (state: 'waiting' | 'ended') => batches.reduce((sum, one) => sum + one[state], 0);
  const ids = batches.map(({ batch }) => batch);
  return [
    `Single notices: ${notices.cancelled} waiting, ${left.length} being sent, ${notices.removed} ended, ${notices.shortened} for several people.`,
    `Batches: ${countOf(of('waiting'), 'chunk')} not sent, ${countOf(of('ended'), 'failure')}${ids.length === 0 ? '' : ` (${ids.join(', ')})`}.`,
    index === null
      ? 'Search index: not read, FIND_KEY is not set.'
      : `Search index: ${countOf(index.notices, 'entry', 'entries')} of single notices, ${countOf(index.chunks, 'chunk')}.`,
  ];
}

type ShownReport = Answer<EraseReport>;

function describeErased(report: ShownReport): string[] {
  const { number, notices, batches, index } = report;
  const { cancelled, removed, shortened } = notices;
  const { contacts, entries } = sumOf(report);
  if (contacts + entries === 0) return ['Nothing was erased.'];
  return [
    `${number}: ${countOf(cancelled, 'notice')} cancelled and removed, ${countOf(removed, 'ended notice')} removed, ${countOf(shortened, 'notice')} for several people without the contact.`,
    ...batches.map(
      ({ batch, waiting, ended }) =>
        `Batch ${batch}: removed from ${countOf(waiting, 'chunk')} that waited, and ${countOf(ended, 'failure')}. It counts as cancelled.`,
    ),
    ...(index === null
      ? []
      : [
          `Search index: ${countOf(index.notices, 'entry', 'entries')}, ${countOf(index.chunks, 'fingerprint')}.`,
        ]),
  ];
}

const WHY_LEFT: Readonly<Record<EraseReport['left'][number]['reason'], string>> = {
  sending: 'is being sent: run the command again when it has ended',
  'possibly-sent':
    'was possibly sent and will be tried again: run the command again when it has ended',
  changed: 'changed meanwhile: run the command again',
};

/** What is not erased, and what to do. */
function describeRest({ index, left, unreadable, importing }: ShownReport): string[] {
  const { notices, chunks } = unreadable;
  return [
    ...left.map((one) => `Left: ${placeOf(one)} ${WHY_LEFT[one.reason]}.`),
    ...(notices + chunks === 0
      ? []
      : [
          `Not readable: ${countOf(notices, 'notice')}, ${countOf(chunks, 'chunk')}. Set PAYLOAD_KEY or PAYLOAD_KEY_PREVIOUS to the key with which they are encrypted, and run the command again.`,
        ]),
    ...importing.map(
      (id) =>
        `Batch ${id} is being imported: remove the number from the rest of its list, or run the command again after the import ("notices batch ${id}"), or "notices cancel ${id}".`,
    ),
    ...(index === null ? ['The search index was not changed: set FIND_KEY if one is used.'] : []),
  ];
}

function placeOf({ notice, batch = '', chunk }: EraseReport['left'][number]): string {
  return notice === undefined ? `chunk ${chunk ?? ''} of batch ${batch}` : `notice ${notice}`;
}

/** What was erased, and what is left. */
export function describeErasure(report: ShownReport): string[] {
  return [...describeErased(report), ...describeRest(report)];
}
