import { z } from 'zod';
import { lookUpNumber } from '../../batch/source/check-number.ts';
import { InputError } from '../../contracts/errors.ts';
import { auditSearch, type Actor } from '../audit.ts';
import { maskNumber } from '../mask-contact.ts';
import {
  readContacts,
  readUnknownOverview,
  type UnknownFilter,
  type UnknownNotice,
  type UnknownOverview,
} from '../unknown.ts';
import { selectUnknown, type Unknowns } from './select.ts';
import { contactsIfReadable } from '../../payload/sealed-job.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import { redisTime } from '../../redis/server-clock.ts';
import { ageFields, batchId, beforeOf, code, number, template } from '../operations/fields.ts';
import type { OperationContext } from '../operations/operation.ts';

/** Previews per caller and minute: they may read every unknown outcome. */
export const FIND_UNKNOWN_PER_MINUTE = 60;

/** The newest batches that are read for unknown contacts. */
export const MAX_BATCHES = 200;
/** Numbers of a notice that are shown. */
const SHOWN_NUMBERS = 3;

const listFields = {
  code,
  template: template.optional(),
  batch: batchId.optional(),
  chunk: z.int().min(0).optional().describe('of the batch'),
  before: ageFields.before,
  olderThanMs: ageFields.olderThanMs,
};

/** Fields of a body that select unknown outcomes. */
export const unknownFields = {
  ...listFields,
  number: number
    .optional()
    .describe(
      'only this phone number. Of a batch only its contacts are selected; a single notice as a whole',
    ),
};

/** The same in a query; a phone number is never part of a URL. */
export const unknownQuery = z.object(listFields);

/** What selects unknown outcomes in a request. */
type UnknownFields = z.output<z.ZodObject<typeof unknownFields>> | z.output<typeof unknownQuery>;

/** @throws InputError REQUEST_INVALID for a chunk without its batch, or two ages */
export function unknownFilter(fields: UnknownFields): UnknownFilter {
  const { code, template, batch, chunk, before, olderThanMs } = fields;
  const invalid = (field: string, problem: string) =>
    new InputError('REQUEST_INVALID', [{ field, problem }]);
  if (chunk !== undefined && batch === undefined) throw invalid('chunk', 'expected with batch');
  const given = 'number' in fields ? fields.number : undefined;
  const checked = given === undefined ? undefined : lookUpNumber(given);
  return {
    code,
    template,
    batch,
    chunk,
    before: beforeOf({ before, olderThanMs }),
    number: checked?.kind === 'number' ? checked.number : undefined,
  };
}

/** Records a selection by phone number in the audit stream: what it selects tells what the number was sent. */
export async function recordSearch(
  { redis, keys }: OperationContext,
  { number }: UnknownFilter,
  actor: Actor,
): Promise<void> {
  if (number === undefined) return;
  await auditSearch(redis, keys, actor, number);
}

/** What a filter selects. */
export interface UnknownPreview {
  readonly filter: UnknownFilter;
  /** When it was read, by the clock of Redis: milliseconds since the epoch. */
  readonly at: number;
  readonly contacts: number;
  readonly found: Unknowns;
}

/** Reads what a filter selects. A search for a number is recorded in the audit stream. */
export async function previewUnknown(
  context: OperationContext,
  who: string,
  fields: UnknownFields,
): Promise<UnknownPreview> {
  const filter = unknownFilter(fields);
  const { redis } = context;
  await recordSearch(context, filter, { who, why: 'unknown outcomes' });
  const at = await timeOf(redis);
  const found = await selectUnknown(context, filter);
  const contacts = [...found.notices, ...found.batches].reduce((sum, one) => sum + one.contacts, 0);
  return { filter, at, contacts, found };
}

async function timeOf(redis: RedisClient): Promise<number> {
  const at = await redisTime(redis).catch((error: unknown) => {
    throw redisFailure(error);
  });
  return Math.ceil(at);
}

/** An unknown notice with the first of its numbers, masked. */
export interface ListedNotice extends UnknownNotice {
  readonly numbers: readonly string[];
}

/** Unknown outcomes as far as they were read, with masked numbers. */
export interface UnknownList extends UnknownOverview {
  /** When it was read, by the clock of Redis: milliseconds since the epoch. */
  readonly at: number;
  readonly notices: readonly ListedNotice[];
}

/** The oldest notices, and the newest batches. */
export async function listUnknown(context: OperationContext, limit: number): Promise<UnknownList> {
  const at = await timeOf(context.redis);
  const found = await readUnknownOverview(context, { notices: limit, batches: MAX_BATCHES });
  return { ...found, at, notices: await withNumbers(context, found.notices) };
}

/** Adds masked numbers, none where they cannot be decrypted: this server may run without the payload keys. */
export async function withNumbers(
  context: OperationContext,
  notices: readonly UnknownNotice[],
): Promise<ListedNotice[]> {
  const contacts = await readContacts(context, notices, contactsIfReadable);
  return notices.map((notice, index) => ({
    ...notice,
    numbers: (contacts[index] ?? [])
      .slice(0, SHOWN_NUMBERS)
      .map(({ contact }) => maskNumber(contact)),
  }));
}
