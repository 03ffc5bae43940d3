import { z } from 'zod';
import { NoticeQueueError } from '../../contracts/errors.ts';
import type { CancelSignal } from '../../contracts/token.ts';
import { describeErasure, eraseReport, previewLines } from '../../erase/erase-words.ts';
import { formsOf } from '../../format/country.ts';
import { countOf, table } from '../../format/format.ts';
import { SOME_LEFT_OUT } from '../notice-words.ts';
import { writeInstant, writeTime } from '../../format/time.ts';
import { findAnswer, type FindReport } from '../../search/find-answer.ts';
import { auditSearch, withoutNumbers, type Actor } from '../audit.ts';
import { maskNumber } from '../mask-contact.ts';
import { number } from './fields.ts';
import { operation, type Answer, type OperationContext } from './operation.ts';

/** Searches per caller and minute; each reads up to a thousand batches. */
export const FINDS_PER_MINUTE = 60;

export function canFind({ findSettings }: Pick<OperationContext, 'findSettings'>): boolean {
  return findSettings.findKey !== undefined;
}

/**
 * Searches, and records the search in the audit stream.
 *
 * @throws NoticeQueueError NOT_POSSIBLE without FIND_KEY, QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function findFor(
  context: OperationContext,
  actor: Actor,
  digits: string,
): Promise<FindReport> {
  if (!canFind(context)) {
    throw new NoticeQueueError(
      'NOT_POSSIBLE',
      'The search is off because FIND_KEY is not set: set the same 32 random bytes for producers, importers and the ops server. The search finds what is enqueued from then on.',
    );
  }
  const { findInQueue } = await import('../../search/find-in-queue.ts');
  await auditSearch(context, actor, digits);
  return findInQueue(context, digits);
}

export const find = operation({
  name: 'find',
  help: {
    group: 'Single notices',
    example: 'notices find 01012345678',
    adds: 'Ends with 1 if there are none.',
  },
  summary:
    'What happened to the notices for one phone number (needs FIND_KEY); the answer does not contain it.',
  answers: 'Single notices and contacts of batches, newest first.',
  needs: 'viewer',
  hidesInput: true,
  path: '/api/v1/find',
  perMinute: FINDS_PER_MINUTE,
  args: ['number'],
  input: z.object({ number }),
  output: findAnswer,
  problems: { 409: 'FIND_KEY is not set, so the search is off.' },
  run: (context, { number: digits }, actor) => findFor(context, actor, digits),
  text: describeFound,
  isDone: ({ notices, contacts }) => notices.length + contacts.length > 0,
});

function describeFound({ notices, contacts, searched }: Answer<FindReport>, now: number): string[] {
  const rows = [
    ...notices.map(({ job, states, confirmed, at, code, template, possiblySent = 0 }) => [
      `notice ${job}`,
      describeStates(states, possiblySent),
      confirmed ? 'yes' : template === undefined ? 'no: its job was deleted' : SOME_LEFT_OUT,
      writeInstant(at),
      code ?? '',
      template ?? '',
    ]),
    ...contacts.map(
      ({ batch, chunk, row, states, confirmed, at, code, template, possiblySent = 0 }) => [
        `batch ${batch}, ${row === undefined ? `chunk ${chunk}` : `row ${row}`}`,
        describeStates(states, possiblySent),
        confirmed ? 'yes' : 'probably: the contact was deleted',
        writeInstant(at),
        code ?? '',
        template,
      ],
    ),
  ];
  const found =
    rows.length === 0
      ? ['No notice found.']
      : table([['WHERE', 'STATE', 'CONFIRMED', 'SINCE', 'CODE', 'TEMPLATE'], ...rows]);
  const { since, batches, contacts: compared, unindexedChunks } = searched;
  const span = writeTime(since, now, (length) => `of the last ${length}`);
  return [
    ...found,
    '',
    `Searched notices ${span}: single notices, and ${countOf(compared, 'contact')} in ${countOf(batches, 'batch', 'batches')}.`,
    ...(unindexedChunks === 0
      ? []
      : [
          `Not searchable: ${countOf(unindexedChunks, 'chunk')}, stored without FIND_KEY or too long ago.`,
        ]),
  ];
}

function describeStates(states: readonly string[], possiblySent: number): string {
  const attempts = countOf(possiblySent, 'attempt');
  return `${states.join(' or ')}${possiblySent === 0 ? '' : `, ${attempts} possibly sent`}`;
}

/** Erases, or looks what would be erased, after the search for it is recorded. */
async function eraseFor(
  context: OperationContext,
  digits: string,
  { who, why }: Actor,
  isPreview: boolean,
  signal?: CancelSignal,
) {
  const { eraseNumber } = await import('../../erase/erase-number.ts');
  const actor = { who, why: withoutNumbers(why) };
  await auditSearch(context, actor, digits);
  const erasure = { forms: formsOf(digits), actor: isPreview ? undefined : actor, signal };
  return eraseNumber(context, erasure);
}

export const erase = operation({
  name: 'erase',
  help: {
    group: 'Single notices',
    example: "notices erase 01012345678 --why 'request of the person'",
    adds: 'It asks first, after a preview.',
  },
  summary:
    'Erases what is stored about one phone number: cancels what waits, removes what is kept.',
  answers: 'What was erased, and what is left. It cannot be restored.',
  needs: 'operator',
  why: 'over-http',
  path: '/api/v1/erase',
  perMinute: 10,
  args: ['number'],
  input: z.object({ number }),
  output: eraseReport,
  preview: async (context, input, call) => {
    const lines = previewLines(await eraseFor(context, input.number, call, true, call.signal));
    const question = `Erase what is stored about ${maskNumber(input.number)}? It cannot be restored.`;
    return { lines, question: lines.length === 0 ? undefined : question, input };
  },
  // A search of a large queue takes longer than a request may: over HTTP it ends with the server.
  run: (context, input, call) =>
    eraseFor(context, input.number, call, false, call.closing ?? call.signal),
  text: describeErasure,
  isDone: ({ left, unreadable, stopped }) =>
    left.length + unreadable.notices + unreadable.chunks === 0 && !stopped,
});
