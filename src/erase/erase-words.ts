import { countOf } from '../format/format.ts';
import type { EraseReport, LeftReason, LeftStored } from './erase-number.ts';
import type { StoredAboutNumber } from './find-stored.ts';

/** One report of the erasures of several forms of a number. */
export function added(one: EraseReport, other: EraseReport): EraseReport {
  const index =
    one.index === null || other.index === null
      ? (one.index ?? other.index)
      : {
          notices: one.index.notices + other.index.notices,
          chunks: one.index.chunks + other.index.chunks,
          keys: one.index.keys + other.index.keys,
        };
  return {
    ...one,
    notices: {
      cancelled: one.notices.cancelled + other.notices.cancelled,
      removed: one.notices.removed + other.notices.removed,
      shortened: one.notices.shortened + other.notices.shortened,
    },
    batches: [...one.batches, ...other.batches],
    index,
    left: [...one.left, ...other.left],
    stopped: one.stopped || other.stopped,
  };
}

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

function describeErased({ number, notices, batches, index }: EraseReport): string[] {
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

const WHY_LEFT: Readonly<Record<LeftReason, string>> = {
  sending: 'is being sent: run the command again when it has ended',
  'possibly-sent':
    'was possibly sent and will be tried again: run the command again when it has ended',
  changed: 'changed meanwhile: run the command again',
};

/** What is not erased, and what to do. */
function describeRest({ index, left, unreadable, importing }: EraseReport): string[] {
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

function placeOf({ notice, batch = '', chunk }: LeftStored): string {
  return notice === undefined ? `chunk ${chunk ?? ''} of batch ${batch}` : `notice ${notice}`;
}

/** What was erased, and what is left. */
export function describeErasure(report: EraseReport): string[] {
  return [...describeErased(report), ...describeRest(report)];
}
