import { describe, expect, it } from 'vitest';
import type { DeliveryPolicy } from '../../../src/contracts/delivery.ts';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { bisect } from '../../../workers/send/chunk-settlement.ts';

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
  readonly possiblySent?: boolean;
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
    of: 'the same after an unknown attempt at the whole: both have that history',
    possiblySent: true,
    outcomes: [UNKNOWN],
    settlement: back([1, 2, 3, 4, 5, 6, 7, 8], true),
  },
  {
    of: 'the same on the last attempt',
    possiblySent: true,
    lastAttempt: true,
    outcomes: [UNKNOWN],
    settlement: failed('unknown', 'HTTP_503', [1, 2, 3, 4, 5, 6, 7, 8]),
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
      possiblySent: false,
      lastAttempt: false,
      ...chunk,
      send: () => Promise.resolve({ outcome: answers.shift(), status: undefined, detail: '' }),
      encode: (part) => Promise.resolve(json(part)),
    });
    expect(answers).toEqual([]);
    expect(result.ended).toBe(outcomes.at(-1));
    expect(result.settlement).toEqual({ accepted: 0, failed: [], ...settlement });
  });
});
