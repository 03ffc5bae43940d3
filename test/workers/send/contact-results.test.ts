import { describe, expect, it } from 'vitest';
import type { ContactOutcome } from '../../../src/service/response/answer-rules.ts';
import {
  isMixed,
  outcomeOfRequest,
  settlementOfResults,
} from '../../../workers/send/contact-results.ts';

const result = (outcome: ContactOutcome, code = outcome.toUpperCase()) => ({
  outcome,
  code,
  message: `about ${code}`,
});
const encode = (some: readonly number[]) => Promise.resolve(Buffer.from(JSON.stringify(some)));
const part = (state: string, code: string, of: readonly number[]) => ({
  state,
  code,
  message: `about ${code}`,
  size: of.length,
  payload: Buffer.from(JSON.stringify(of)),
});
const rest = (of: readonly number[], possiblySent: boolean) => ({
  size: of.length,
  payload: Buffer.from(JSON.stringify(of)),
  possiblySent,
});

/** Contacts 1 to 5; the last is not in the results. */
const results = [result('accepted'), result('rejected'), result('retry'), result('unknown')];
const REJECTED = part('rejected', 'REJECTED', [2]);

describe('settlementOfResults', () => {
  it.each([
    ['at-least-once', false, { failed: [REJECTED], rest: rest([3, 4, 5], true) }],
    [
      'at-least-once',
      true,
      {
        failed: [
          REJECTED,
          part('rejected', 'RETRY', [3]),
          part('unknown', 'UNKNOWN', [4]),
          { ...part('unknown', 'NOT_IN_RESULTS', [5]), message: '' },
        ],
      },
    ],
    [
      'at-most-once',
      false,
      {
        failed: [
          REJECTED,
          part('unknown', 'UNKNOWN', [4]),
          { ...part('unknown', 'NOT_IN_RESULTS', [5]), message: '' },
        ],
        rest: rest([3], false),
      },
    ],
  ] as const)('%s, last attempt: %s', async (delivery, lastAttempt, expected) => {
    const contacts = [1, 2, 3, 4, 5];
    const options = { contacts, results, delivery, lastAttempt, encode };
    expect(await settlementOfResults(options)).toEqual({ accepted: 1, ...expected });
  });

  it('makes one failure of contacts with the same state and code', async () => {
    const settlement = await settlementOfResults({
      contacts: [1, 2, 3],
      results: [result('rejected', 'A'), result('rejected', 'B'), result('rejected', 'A')],
      delivery: 'at-least-once',
      lastAttempt: false,
      encode,
    });
    const failed = [part('rejected', 'A', [1, 3]), part('rejected', 'B', [2])];
    expect(settlement).toEqual({ accepted: 0, failed });
  });
});

it('results are mixed where some were accepted and others were not', () => {
  expect(isMixed(undefined)).toBe(false);
  expect(isMixed([result('accepted'), result('accepted')])).toBe(false);
  expect(isMixed([result('rejected'), result('retry')])).toBe(false);
  expect(isMixed([result('accepted'), result('unknown')])).toBe(true);
});

it('one accepted contact proves that the service accepts', () => {
  const outcome = { kind: 'rejected', code: 'NO' } as const;
  expect(outcomeOfRequest(outcome, [result('rejected'), result('accepted')])).toMatchObject({
    kind: 'accepted',
  });
  expect(outcomeOfRequest(outcome, [result('rejected')])).toBe(outcome);
  expect(outcomeOfRequest(undefined, undefined)).toBeUndefined();
});
