import { z } from 'zod';
import { InputError } from '../../contracts/errors.ts';
import { countOf, table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { countEnded } from '../../notices/ended.ts';
import { contactsIfReadable } from '../../payload/sealed-job.ts';
import { count } from '../answers/fields.ts';
import { auditSearch, type Actor } from '../audit.ts';
import { requireBatch } from '../batch-snapshot.ts';
import { maskNumber } from '../mask-contact.ts';
import {
  batchesOf,
  listUnknownNotices,
  readContacts,
  sumOfBatch,
  unknownCsv,
  unknownNotice,
  unknownOfBatch,
  type UnknownFilter,
  type UnknownNotice,
  type UnknownOfBatch,
} from '../unknown.ts';
import { wholeSumsOf } from '../unknown-sums.ts';
import { ageFields, batchId, beforeOf, code, digitsOf, number, template, whole } from './fields.ts';
import {
  operation,
  redisNow,
  type Answer,
  type OperationCall,
  type OperationContext,
} from './operation.ts';

/** Batches of a list over HTTP; a preview reads all. */
export const MAX_BATCHES = 200;
/** Single notices of an answer over HTTP. */
const MAX_NOTICES = 500;
/** Numbers of a notice that are shown. */
const SHOWN_NUMBERS = 3;

export const filterFields = {
  all: z.boolean().optional().describe('only single notices, no contacts of batches'),
  code,
  template: template.optional(),
  batch: batchId.optional(),
  chunk: whole(0, 2 ** 31)
    .optional()
    .describe('of the batch'),
  before: ageFields.before,
  olderThanMs: ageFields.olderThanMs,
  number: number
    .optional()
    .describe(
      'only this phone number. Of a batch only its contacts are selected; a single notice as a whole',
    ),
};

type FilterFields = z.output<z.ZodObject<typeof filterFields>>;

/** @throws InputError REQUEST_INVALID for a chunk without its batch, single notices of a batch, or two ages */
export function unknownFilter({
  olderThanMs,
  before,
  number: written,
  ...fields
}: FilterFields): UnknownFilter {
  if (fields.chunk !== undefined && fields.batch === undefined) {
    throw new InputError('REQUEST_INVALID', [{ field: 'chunk', problem: 'expected with batch' }]);
  }
  if (fields.all === true && fields.batch !== undefined) {
    throw new InputError('REQUEST_INVALID', [{ field: 'all', problem: 'expected without batch' }]);
  }
  const digits = written === undefined ? undefined : digitsOf(written);
  return { ...fields, before: beforeOf({ before, olderThanMs }), number: digits };
}

/** Reads a filter. A search for a number is recorded: what it selects tells what the number was sent. */
export async function filterFor(
  context: OperationContext,
  fields: FilterFields,
  { who, why }: Actor,
) {
  const filter = unknownFilter(fields);
  if (filter.number !== undefined) {
    await auditSearch(context.redis, context.keys, { who, why }, filter.number);
  }
  if (filter.batch !== undefined) await requireBatch(context, filter.batch);
  return filter;
}

const list = z.object({
  at: z
    .int()
    .describe(
      'when it was read: as `before` of the decision it leaves out what became unknown later',
    ),
  contacts: count.describe('of all that was read'),
  notices: z
    .array(
      unknownNotice.extend({
        numbers: z.array(z.string()).describe('the first of them, masked; none without the key'),
      }),
    )
    .describe('single notices, the oldest'),
  listed: count.describe('single notices in all'),
  batches: z.array(unknownOfBatch),
  allBatches: z.boolean().describe('false where older batches may have unknown contacts, too'),
});

/** What a filter selects: all that a decision with it would decide, or for a list over HTTP the first of it. */
async function read(
  context: OperationContext,
  { limit, ...fields }: FilterFields & { readonly limit: number },
  call: OperationCall,
): Promise<z.output<typeof list>> {
  const filter = await filterFor(context, fields, call);
  const at = await redisNow(context.redis);
  const { batch: _batch, all: _all, ...others } = fields;
  const isFiltered = Object.values(others).some((field) => field !== undefined);
  // Without a filter, its cost does not grow with what is unknown.
  const isBounded = call.bounded === true && !isFiltered;
  const most = isBounded ? limit : undefined;
  const notices = await listUnknownNotices(context, filter, undefined, most);
  const { batches, allBatches } = isBounded
    ? await wholeSumsOf(context, filter, MAX_BATCHES)
    : await sumsOf(context, filter, call.bounded === true ? MAX_BATCHES : Infinity);
  const shown = notices.slice(0, limit);
  const numbers = await readContacts(context, shown, contactsIfReadable);
  return {
    at,
    contacts: contactsIn([...notices, ...batches]),
    notices: shown.map((notice, index) => ({
      ...notice,
      numbers: (numbers[index] ?? [])
        .slice(0, SHOWN_NUMBERS)
        .map(({ contact }) => maskNumber(contact)),
    })),
    listed:
      most === undefined
        ? notices.length
        : await countEnded(context.redis, context.keys, ['unknown']),
    batches,
    allBatches,
  };
}

export async function sumsOf(context: OperationContext, filter: UnknownFilter, most = Infinity) {
  const batches: UnknownOfBatch[] = [];
  let left = most;
  for await (const batch of batchesOf(context, filter)) {
    if (left-- === 0) return { batches, allBatches: false };
    const found = await sumOfBatch(context, batch, filter);
    if (found !== undefined) batches.push(found);
  }
  return { batches, allBatches: true };
}

export const contactsIn = (found: readonly { readonly contacts: number }[]) =>
  found.reduce((sum, one) => sum + one.contacts, 0);

export function describeUnknowns(
  {
    notices,
    batches,
  }: {
    readonly notices: readonly UnknownNotice[];
    readonly batches: readonly Answer<UnknownOfBatch>[];
  },
  now: number,
): string[] {
  if (notices.length + batches.length === 0) return ['No outcome is unknown.'];
  return table([
    [
      'SINCE',
      'JOB OR BATCH',
      'TEMPLATE',
      'CONTACTS',
      'CODE',
      'LAST STAGE',
      'POSSIBLY SENT',
      'TRACE IDS',
    ],
    ...notices.map((notice) => [
      writeTime(notice.at, now),
      notice.id,
      notice.template,
      String(notice.contacts),
      notice.code,
      notice.stage,
      countOf(notice.possiblySent, 'time'),
      notice.traceIds?.join(' ') ?? '',
    ]),
    ...batches.map(({ batch, at, template: name, contacts, codes }) => [
      writeTime(at, now),
      `batch ${batch}`,
      name,
      String(contacts),
      codes.join(', '),
      '',
      '',
      '',
    ]),
  ]);
}

function shownBy<Input extends { limit: number }>(input: Input, { bounded }: OperationCall): Input {
  return bounded === true ? { ...input, limit: Math.min(input.limit, MAX_NOTICES) } : input;
}

export const unknown = operation({
  name: 'unknown',
  summary: 'Notices and contacts of batches whose outcome is unknown.',
  answers: `The oldest notices, and the newest ${MAX_BATCHES} batches with unknown contacts.`,
  needs: 'viewer',
  path: '/api/v1/unknown',
  perMinute: 60,
  input: z.object({
    ...filterFields,
    limit: whole(1, 1_000_000)
      .default(100)
      .describe(`most single notices of the answer; over HTTP at most ${MAX_NOTICES}`),
  }),
  output: list,
  run: (context, input, call) => read(context, shownBy(input, call), call),
  text: (found, now) => [
    ...describeUnknowns(found, now),
    ...(found.listed > found.notices.length
      ? [`The oldest ${found.notices.length} of ${countOf(found.listed, 'single notice')}.`]
      : []),
    ...(found.contacts === 0
      ? []
      : [
          'Check them at the service, then run "notices resolve ID --as accepted" or "notices resolve --batch BATCH --as accepted".',
          'Instead of accepted: --as discard gives them up, --as resend sends them again.',
        ]),
  ],
  csv: {
    summary:
      'The contacts whose outcome is unknown, with trace ids, to look them up at the service. It contains phone numbers; each download is recorded in the audit stream.',
    open: async (context, { limit: _limit, ...fields }, actor) => {
      const filter = await filterFor(context, fields, actor);
      const { batch, code: reason, template: name } = filter;
      const as = ['unknown', reason, name].filter((part) => part !== undefined).join(' ');
      const target = batch === undefined ? 'unknown outcomes' : `batch ${batch}`;
      return {
        entry: { ...actor, what: 'download', target, as },
        fileName: 'unknown.csv',
        produce: async (write) => ({ contacts: await unknownCsv(context, filter, write) }),
      };
    },
  },
});

export const previewUnknowns = operation({
  name: 'unknown preview',
  summary: 'What resolving with the same filter would decide; changes nothing.',
  answers: 'The preview.',
  needs: 'viewer',
  hidesInput: true,
  path: '/api/v1/unknown/preview',
  perMinute: 60,
  input: unknown.input,
  output: list,
  run: (context, input, call) => read(context, shownBy(input, call), { ...call, bounded: false }),
});
