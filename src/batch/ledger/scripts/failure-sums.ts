import { defineScript } from '../../../redis/script.ts';
import type { FailedPart } from '../settlement.ts';

/** Failures of a batch with the same state and code, as the ledger sums them up. */
export interface FailureSum {
  readonly state: FailedPart['state'];
  readonly code: string;
  /** Number of contacts. */
  readonly contacts: number;
  /** Chunks and parts of chunks that contain them. */
  readonly parts: number;
  /** The service's message for one of them, with phone numbers masked; empty if there was none. */
  readonly message: string;
  /** Name of one of these failures; empty where the first one was sent again or decided on. */
  readonly first: string;
}

/**
 * Reads the sums of a batch's failures, with what they must add up to. KEYS: record, failures and groups of
 * the batch.
 *
 * | sums | the batch | answer |
 * |---|---|---|
 * | contacts of each state as in the record, and as many parts as there are failures | any | the sums |
 * | the same, except for fewer unknown contacts | cancelled: the others have no failure | the sums |
 * | anything else: there are too many codes | any | undefined |
 */
export const readFailureSums = defineScript<readonly FailureSum[] | undefined>({
  name: 'ledger failure sums',
  keys: 3,
  lua: `
return { redis.call('HMGET', KEYS[1], 'rejected', 'unknown', 'expired', 'phase'),
  redis.call('HLEN', KEYS[2]), redis.call('HVALS', KEYS[3]) }`,
  parse: (reply) => {
    const [[rejected, unknown, expired, phase], failures, texts] = reply as SumsReply;
    const sums = texts.map((text) => JSON.parse(text) as FailureSum);
    const contacts = (state: FailureSum['state']) =>
      sums.reduce((all, sum) => all + (sum.state === state ? sum.contacts : 0), 0);
    const notSummed = Number(unknown ?? 0) - contacts('unknown');
    const isComplete =
      contacts('rejected') === Number(rejected ?? 0) &&
      contacts('expired') === Number(expired ?? 0) &&
      (phase === 'cancelled' ? notSummed >= 0 : notSummed === 0) &&
      sums.reduce((all, { parts }) => all + parts, 0) === failures;
    return isComplete ? sums : undefined;
  },
});

/**
 * Reads the sum of the unknown contacts of all batches (`sumUpUnknown` in ledger-prelude.ts). KEYS: those of
 * UnknownContactKeys. Redis deletes a batch at the end of its retention without a script: its part of the sum does
 * not count from then on. Only reads, so that the sum is shown while Redis refuses writes.
 */
export const readUnknownContacts = defineScript<number>({
  name: 'unknown contacts',
  keys: 2,
  lua: `
local sum = tonumber(redis.call('HGET', KEYS[1], '')) or 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', clock())) do
  sum = sum - (tonumber(redis.call('HGET', KEYS[1], id)) or 0)
end
return sum`,
  parse: Number,
});

type Text = string | null;
type SumsReply = readonly [readonly [Text, Text, Text, Text], number, readonly string[]];
