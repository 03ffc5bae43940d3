import { describe, expect, it } from 'vitest';
import type { DeliveryPolicy } from '../../../../src/contracts/delivery.ts';
import type { Outcome } from '../../../../src/contracts/outcome.ts';
import { bisect, type SentPart } from '../../../../workers/send/chunks/chunk-settlement.ts';
import { sortByResult } from '../../../../workers/send/contact-results.ts';
import { outcomeOfResults } from '../../../../src/service/outcome-table.ts';
import type { ContactOutcome } from '../../../../src/service/response/answer-rules.ts';

const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'HTTP_503' };
const RETRY: Outcome = { kind: 'retry', code: 'ECONNREFUSED', counted: true };
const HOLD: Outcome = { kind: 'hold', hold: 'credit', code: 'HTTP_402' };
const REJECTED = { code: 'HTTP_400', detail: '' };

const json = (contacts: readonly number[]) => Buffer.from(JSON.stringify(contacts));

/** Contacts that are tried again, with the history that the settlement gives them. */
const back = (contacts: readonly number[], possiblySent: boolean) => ({
  rest: { size: contacts.length, payload: json(contacts), possiblySent },
});
const split = (contacts: readonly number[]) => ({
  split: { size: contacts.length, payload: json(contacts) },
});
const failed = (state: 'unknown' | 'rejected', code: string, contacts: readonly number[]) => ({
  failed: [{ state, code, message: '', size: contacts.length, payload: json(contacts) }],
});

interface Row {
  readonly of: string;
  readonly delivery?: DeliveryPolicy;
  readonly lastAttempt?: boolean;
  /** Outcomes of the requests for 1 to 4, 5 to 8. */
  readonly outcomes: readonly (Outcome | undefined)[];
  readonly settlement: object;
}

const ROWS: readonly Row[] = [
  {
    of: 'the second half unknown',
    outcomes: [ACCEPTED, UNKNOWN],
    settlement: { accepted: 4, ...back([5, 6, 7, 8], true) },
  },
  {
    of: 'the first half unknown: the other was not sent',
    outcomes: [UNKNOWN],
    settlement: { ...back([1, 2, 3, 4], true), ...split([5, 6, 7, 8]) },
  },
  {
    of: 'the same on the last attempt',
    lastAttempt: true,
    outcomes: [UNKNOWN],
    settlement: { ...failed('unknown', 'HTTP_503', [1, 2, 3, 4]), ...split([5, 6, 7, 8]) },
  },
  {
    of: 'the same at-most-once',
    delivery: 'at-most-once',
    outcomes: [UNKNOWN],
    settlement: { ...failed('unknown', 'HTTP_503', [1, 2, 3, 4]), ...split([5, 6, 7, 8]) },
  },
  {
    of: 'provably not taken',
    outcomes: [RETRY],
    settlement: back([1, 2, 3, 4, 5, 6, 7, 8], false),
  },
  {
    of: 'provably not taken, on the last attempt',
    lastAttempt: true,
    outcomes: [ACCEPTED, RETRY],
    settlement: { accepted: 4, ...failed('rejected', 'ECONNREFUSED', [5, 6, 7, 8]) },
  },
  {
    of: 'a hold',
    outcomes: [ACCEPTED, HOLD],
    settlement: { accepted: 4, ...back([5, 6, 7, 8], false) },
  },
  {
    of: 'a hold, on the last attempt',
    lastAttempt: true,
    outcomes: [HOLD],
    settlement: back([1, 2, 3, 4, 5, 6, 7, 8], false),
  },
  {
    of: 'not started',
    outcomes: [ACCEPTED, undefined],
    settlement: { accepted: 4, ...back([5, 6, 7, 8], false) },
  },
];

describe('a bisection that ends early', () => {
  it.each(ROWS)('$of', async ({ outcomes, settlement, ...chunk }) => {
    const answers = [...outcomes];
    const result = await bisect({
      contacts: [1, 2, 3, 4, 5, 6, 7, 8],
      rejected: REJECTED,
      delivery: 'at-least-once',
      lastAttempt: false,
      ...chunk,
      send: () => Promise.resolve({ outcome: answers.shift(), status: undefined, detail: '' }),
      encode: (part) => Promise.resolve(json(part)),
    });
    expect(answers).toEqual([]);
    expect(result).toEqual({
      settlement: { accepted: 0, failed: [], ...settlement },
      ended: outcomes.at(-1),
    });
  });
});

describe('a part that is refused as its own fault, with a page, 401 or 403', () => {
  const OWN: Outcome = { kind: 'rejected', code: 'NOT_YOURS', own: true };

  const bisected = (size: number, ...outcomes: Outcome[]) =>
    bisect({
      contacts: Array.from({ length: size }, (_, index) => index + 1),
      rejected: REJECTED,
      delivery: 'at-least-once',
      lastAttempt: true,
      send: () => Promise.resolve({ outcome: outcomes.shift(), status: 403, detail: 'HTTP 403' }),
      encode: (part) => Promise.resolve(json(part)),
    });

  it('leads to halves of the chunk where nothing is settled yet', async () => {
    expect(await bisected(8, OWN)).toBe('halve');
  });

  it('is tried again with the rest, without those that were accepted', async () => {
    expect(await bisected(8, ACCEPTED, OWN)).toEqual({
      settlement: { accepted: 4, failed: [], ...back([5, 6, 7, 8], false) },
      ended: { kind: 'retry', code: 'NOT_YOURS', counted: false },
    });
  });

  it('is rejected where it is one contact', async () => {
    expect(await bisected(2, OWN, ACCEPTED)).toMatchObject({
      settlement: { accepted: 1, failed: [{ code: 'NOT_YOURS', size: 1 }] },
      ended: undefined,
    });
  });
});

it('finds the first of 8,192 contacts', async () => {
  const result = await bisect({
    contacts: Array.from({ length: 8_192 }, (_, index) => index),
    rejected: REJECTED,
    delivery: 'at-least-once',
    lastAttempt: false,
    send: (part) =>
      Promise.resolve(
        part.includes(0)
          ? { outcome: { kind: 'rejected', code: 'BAD' }, status: 400, detail: '' }
          : { outcome: ACCEPTED, status: 200, detail: '' },
      ),
    encode: (part) => Promise.resolve(json(part)),
  });
  expect(result).toMatchObject({
    settlement: { accepted: 8_191, failed: [{ code: 'BAD', size: 1 }] },
  });
});

/** The request for a part whose answer has these results, in the order of its contacts. */
const answered =
  (mayResend: boolean, lastAttempt: boolean, ...all: readonly ContactOutcome[]) =>
  (contacts: readonly number[]): SentPart<number> => {
    const results = all.map((outcome) => ({ outcome, code: outcome, message: '' }));
    return {
      outcome: outcomeOfResults(results),
      status: 200,
      detail: '',
      sorted: sortByResult({ contacts, results, mayResend, lastAttempt }),
    };
  };

interface ResultRow {
  readonly of: string;
  readonly lastAttempt?: boolean;
  /** By the delivery policy, and by UNKNOWN_RESENDS. Default true */
  readonly mayResend?: boolean;
  /** Of the contacts 1 and 2; the others are accepted, if they are sent. */
  readonly results: readonly [ContactOutcome, ContactOutcome];
  readonly settlement: object;
  readonly ended: object | undefined;
}

const RESULT_ROWS: readonly ResultRow[] = [
  {
    of: 'accepted and rejected: it goes on with the others',
    results: ['accepted', 'rejected'],
    settlement: { accepted: 3, ...failed('rejected', 'rejected', [2]) },
    ended: undefined,
  },
  {
    of: 'accepted and retry: the accepted one is not tried again',
    results: ['accepted', 'retry'],
    settlement: { accepted: 1, ...back([2, 3, 4], false) },
    ended: { kind: 'retry', code: 'retry', counted: true },
  },
  {
    of: 'accepted and retry, on the last attempt: it goes on with the others',
    lastAttempt: true,
    results: ['accepted', 'retry'],
    settlement: { accepted: 3, ...failed('rejected', 'retry', [2]) },
    ended: undefined,
  },
  {
    of: 'accepted and unknown: what was not sent yet is a new chunk',
    results: ['accepted', 'unknown'],
    settlement: { accepted: 1, ...back([2], true), ...split([3, 4]) },
    ended: { kind: 'unknown', code: 'unknown' },
  },
  {
    of: 'unknown and retry: what was surely not accepted is in the new chunk',
    results: ['unknown', 'retry'],
    settlement: { accepted: 0, ...back([1], true), ...split([2, 3, 4]) },
    ended: { kind: 'unknown', code: 'unknown' },
  },
  {
    of: 'accepted and unknown, with no resend left: it goes on with the others',
    mayResend: false,
    results: ['accepted', 'unknown'],
    settlement: { accepted: 3, ...failed('unknown', 'unknown', [2]) },
    ended: undefined,
  },
];

describe('a bisection with a result for each contact of its first half', () => {
  it.each(RESULT_ROWS)(
    '$of',
    async ({ results, settlement, ended, mayResend = true, lastAttempt = false }) => {
      const answers = [
        answered(mayResend, lastAttempt, ...results),
        answered(mayResend, lastAttempt, 'accepted', 'accepted'),
      ];
      const result = await bisect({
        contacts: [1, 2, 3, 4],
        rejected: REJECTED,
        delivery: 'at-least-once',
        lastAttempt,
        send: (part) =>
          Promise.resolve(answers.shift()?.(part) ?? { outcome: undefined, status: 0, detail: '' }),
        encode: (part) => Promise.resolve(json(part)),
      });
      expect(result).toEqual({ settlement: { failed: [], ...settlement }, ended });
    },
  );
});
