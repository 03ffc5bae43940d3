import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CancelOptions, NoticeRef } from './notice-state.ts';
import { parseInput } from '../contracts/parse-input.ts';
import { idempotencyKey } from '../contracts/send-options.ts';

/** Most characters of an id: far more than ours have, because producers in other languages choose their own. */
const MAX_ID_LENGTH = 200;

/** An id of a notice or job. Any characters: it is only compared. */
export const noticeId = z
  .string('expected an id as text')
  .min(1, 'expected an id, got an empty string')
  .max(MAX_ID_LENGTH, `expected at most ${MAX_ID_LENGTH} characters`);

/** What a look-up is asked for, as the scripts take it. */
export interface RefArguments {
  readonly mode: 'id' | 'key';
  /** The id, or the hash of the key. */
  readonly text: string;
}

const byKey = z.strictObject({ idempotencyKey });

/** @throws InputError NOTICE_INVALID if it is no id and no key */
export function readRef(given: NoticeRef): RefArguments {
  if (typeof given !== 'object') {
    return { mode: 'id', text: parseInput(noticeId, given, 'NOTICE_INVALID', '', 'id') };
  }
  const checked = parseInput(byKey, given, 'NOTICE_INVALID', '', 'id');
  return { mode: 'key', text: hashKey(checked.idempotencyKey) };
}

const cancelOptions = z.strictObject(
  { releaseKey: z.boolean('expected true or false').optional() },
  'expected an options object',
);

/** @throws InputError NOTICE_INVALID: another value may not release a key, and a mistyped name may not keep one */
export function readCancelOptions(options: unknown): CancelOptions {
  return parseInput(cancelOptions, options, 'NOTICE_INVALID', '', 'options');
}

/** The hash of an idempotency key, which is stored in its place. */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 22);
}
