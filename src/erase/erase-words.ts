import { z } from 'zod';
import { count, type Answer } from '../ops/answers/fields.ts';
import { countOf } from '../format/format.ts';
import type { StoredAboutNumber } from './find-stored.ts';

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
      keys: count.describe('idempotency keys of notices whose jobs were deleted before'),
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
  stopped: z.boolean().describe('it took too long: repeat it'),
});
export type EraseReport = z.output<typeof eraseReport>;

export function isEmpty({ notices, contacts, index }: StoredAboutNumber): boolean {
  const entries = index === undefined ? 0 : index.entries.length + index.batches.length;
  return notices.length + contacts.length + entries === 0;
}

/** What would be erased. */
export function previewLines({ notices, contacts, index }: StoredAboutNumber): string[] {
  const inPlace = (place: string) => notices.filter((one) => one.place === place).length;
  const shared = notices.filter((one) => one.shared).length;
  const batches = new Set(contacts.map(({ batch }) => batch));
  const waiting = contacts.filter(({ state }) => state === 'waiting').length;
  const entries = index?.entries.length ?? 0;
  const prints = index?.batches.reduce((sum, { hits }) => sum + hits.length, 0) ?? 0;
  return [
    `Single notices: ${inPlace('waiting')} waiting, ${inPlace('sending')} being sent, ${inPlace('ended')} ended; ${shared} for several people.`,
    `Batches: ${countOf(waiting, 'chunk')} not sent, ${countOf(contacts.length - waiting, 'failure')}${batches.size === 0 ? '' : ` (${[...batches].join(', ')})`}.`,
    index === undefined
      ? 'Search index: not read, FIND_KEY is not set.'
      : `Search index: ${countOf(entries, 'entry', 'entries')} of single notices, ${countOf(prints, 'chunk')}.`,
  ];
}

/** A report as its reader gets it. */
type ShownReport = Answer<EraseReport>;

function describeErased({ number, notices, batches, index }: ShownReport): string[] {
  const { cancelled, removed, shortened } = notices;
  const inIndex = index === null ? 0 : index.notices + index.chunks + index.keys;
  if (cancelled + removed + shortened + batches.length + inIndex === 0) {
    return ['Nothing was erased.'];
  }
  return [
    `${number}: ${countOf(cancelled, 'notice')} cancelled and removed, ${countOf(removed, 'ended notice')} removed, ${countOf(shortened, 'notice')} for several people without the contact.`,
    ...batches.map(
      ({ batch, waiting, ended }) =>
        `Batch ${batch}: removed from ${countOf(waiting, 'chunk')} that waited, and ${countOf(ended, 'failure')}. It counts as cancelled.`,
    ),
    ...(index === null
      ? []
      : [
          `Search index: ${countOf(index.notices, 'entry', 'entries')}, ${countOf(index.chunks, 'fingerprint')}; ${countOf(index.keys, 'idempotency key')} of deleted notices.`,
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
