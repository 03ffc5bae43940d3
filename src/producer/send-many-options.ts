import type { z } from 'zod';
import type { Notice } from '../contracts/notice.ts';
import { parseInput } from '../contracts/parse-input.ts';
import { sendOptionsSchema, type SendOptions } from '../contracts/send-options.ts';

/**
 * Options of `sendMany`: the same for all notices, or a function that returns those of each notice.
 */
export type SendManyOptions =
  SendOptions | ((notice: Notice, index: number) => SendOptions | undefined);

/** Options of one send, checked. */
export type CheckedOptions = z.output<typeof sendOptionsSchema>;

/** @throws InputError NOTICE_INVALID */
export function readOptions(options: unknown, place: string): CheckedOptions {
  return parseInput(sendOptionsSchema, options, 'NOTICE_INVALID', place);
}

/** Options for all notices are checked once, before the first notice is read. */
export function optionsForEach(
  options: SendManyOptions,
): (notice: Notice, index: number) => CheckedOptions {
  if (typeof options === 'function') {
    return (notice, index) =>
      readOptions(options(notice, index) ?? {}, `notices[${index}] options`);
  }
  const checked = readOptions(options, 'options');
  const { idempotencyKey } = checked;
  if (idempotencyKey === undefined) return () => checked;
  return (_, index) => ({ ...checked, idempotencyKey: `${idempotencyKey}/${index}` });
}

export function isIterable(value: unknown): value is Iterable<Notice> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<Notice> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
