import { describe, expect, it } from 'vitest';
import type { ContactOutcome } from '../../../src/service/response/answer-rules.ts';
import {
  isMixed,
  outcomeOfRequest,
  settlementOfSorted,
  sortByResult,
  type ContactResults,
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

const RETRY = part('rejected', 'RETRY', [3]);
const UNKNOWN = [
  part('unknown', 'UNKNOWN', [4]),
  { ...part('unknown', 'NOT_IN_RESULTS', [5]), message: '' },
];
const SPLIT = { size: 1, payload: Buffer.from(JSON.stringify([3])) };

const settlementOfResults = (request: ContactResults<number>, possiblySent: boolean) =>
  settlementOfSorted(sortByResult(request), possiblySent, encode);

describe('the settlement of a chunk with results', () => {
  it.each([
    // possibly sent before, may be sent again, last attempt
    [false, true, false, { failed: [REJECTED], rest: rest([4, 5], true), split: SPLIT }],
    [true, true, false, { failed: [REJECTED], rest: rest([4, 5, 3], true) }],
    [false, false, false, { failed: [REJECTED, ...UNKNOWN], rest: rest([3], false) }],
    [true, false, false, { failed: [REJECTED, ...UNKNOWN], rest: rest([3], false) }],
    [false, true, true, { failed: [REJECTED, RETRY, ...UNKNOWN] }],
  ])(
    'possibly sent before: %s, may be sent again: %s, last attempt: %s',
    async (possiblySent, mayResend, lastAttempt, expected) => {
      const contacts = [1, 2, 3, 4, 5];
      const request = { contacts, results, mayResend, lastAttempt };
      const settlement = await settlementOfResults(request, possiblySent);
      expect(settlement).toEqual({ accepted: 1, ...expected });
    },
  );

  it('leaves what is unknown in its chunk where nothing else is left', async () => {
    const settlement = await settlementOfResults(
      {
        contacts: [1, 2],
        results: [result('accepted'), result('unknown')],
        mayResend: true,
        lastAttempt: false,
      },
      false,
    );
    expect(settlement).toEqual({ accepted: 1, failed: [], rest: rest([2], true) });
  });

  it('makes one failure of contacts with the same state and code', async () => {
    const settlement = await settlementOfResults(
      {
        contacts: [1, 2, 3],
        results: [result('rejected', 'A'), result('rejected', 'B'), result('rejected', 'A')],
        mayResend: true,
        lastAttempt: false,
      },
      false,
    );
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
