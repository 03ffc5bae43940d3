import { describe, expect, it } from 'vitest';
import type { JobData } from '../../../src/contracts/job.ts';
import type { Contact } from '../../../src/contracts/notice.ts';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { outcomeOfRequest } from '../../../workers/send/attempt.ts';
import {
  settlementOfSorted,
  sortByResult,
  type ContactResults,
} from '../../../workers/send/chunk-settlement.ts';
import { sameForAll, settleNotice } from '../../../workers/send/notice-decision.ts';
import type { ContactOutcome } from '../../../src/contracts/answer-rules.ts';

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

const settlementOfResults = (request: ContactResults<number>) =>
  settlementOfSorted(sortByResult(request), encode);

it('an answer proves that the service accepts if it accepted one contact', () => {
  const failed: Outcome = { kind: 'rejected', code: 'SOME' };
  const proof = { kind: 'accepted', confirmed: true };
  expect(outcomeOfRequest(failed, [result('rejected'), result('accepted')])).toEqual(proof);
  expect(outcomeOfRequest(failed, [result('rejected')])).toBe(failed);
  expect(outcomeOfRequest(failed, undefined)).toBe(failed);
});

describe('the settlement of a chunk with results', () => {
  it.each([
    // may be sent again, last attempt
    [true, false, { failed: [REJECTED], rest: rest([4, 5], true), split: [SPLIT] }],
    [false, false, { failed: [REJECTED, ...UNKNOWN], rest: rest([3], false) }],
    [true, true, { failed: [REJECTED, RETRY, ...UNKNOWN] }],
  ])('may be sent again: %s, last attempt: %s', async (mayResend, lastAttempt, expected) => {
    const contacts = [1, 2, 3, 4, 5];
    const settlement = await settlementOfResults({ contacts, results, mayResend, lastAttempt });
    expect(settlement).toEqual({ accepted: 1, ...expected });
  });

  it('leaves what is unknown in its chunk where nothing else is left', async () => {
    const settlement = await settlementOfResults({
      contacts: [1, 2],
      results: [result('accepted'), result('unknown')],
      mayResend: true,
      lastAttempt: false,
    });
    expect(settlement).toEqual({ accepted: 1, failed: [], rest: rest([2], true) });
  });

  it('makes one failure of contacts with the same state and code', async () => {
    const settlement = await settlementOfResults({
      contacts: [1, 2, 3],
      results: [result('rejected', 'A'), result('rejected', 'B'), result('rejected', 'A')],
      mayResend: true,
      lastAttempt: false,
    });
    const failed = [part('rejected', 'A', [1, 3]), part('rejected', 'B', [2])];
    expect(settlement).toEqual({ accepted: 0, failed });
  });
});

describe('a single notice whose contacts have results of their own', () => {
  const contact = (letter: string): Contact => ({ contact: `0100000000${letter}`, var1: letter });
  const dataOf = (letters: string, more: Partial<JobData> = {}): JobData => ({
    v: 1,
    notice: {
      templateCode: 'T',
      scheduleType: 'DIRECTLY',
      contacts: letters.split('').map((letter) => contact(letter)),
    },
    ...more,
  });
  const settled = (letter: string, state: 'rejected' | 'unknown') => ({
    contact: contact(letter),
    state,
    code: state.toUpperCase(),
  });
  /** Letters of the contacts that remain in the notice, that are accepted, and that are settled. */
  const kept = (data: JobData | undefined) =>
    data && {
      notice: data.notice.contacts.map(({ var1 }) => var1).join(''),
      accepted: (data.accepted ?? []).map((number) => number.slice(-1)).join(''),
      settled: (data.settled ?? []).map(
        ({ contact: one, state }) => `${state} ${String(one['var1'])}`,
      ),
    };
  const FIRST = {
    possiblySent: 0,
    before: { possiblySent: 0 },
    traceIds: [],
    mostResends: 2,
    lastAttempt: false,
  };
  const ONCE = { delivery: 'at-most-once' } as const;
  const all = (...outcomes: readonly ContactOutcome[]) => outcomes.map((one) => result(one));

  it('is not changed where all have the same result, or are tried again', () => {
    for (const same of [all('accepted', 'accepted'), all('rejected', 'rejected')]) {
      expect(settleNotice(dataOf('ab'), same, FIRST)).toBeUndefined();
    }
    expect(settleNotice(dataOf('ab'), all('retry', 'unknown'), FIRST)).toBeUndefined();
  });

  it('goes on with those that are tried again: a rejected one is not sent again', () => {
    const end = settleNotice(dataOf('abc'), all('accepted', 'rejected', 'retry'), FIRST);
    expect(end?.outcome).toMatchObject({ kind: 'retry', code: 'RETRY' });
    expect(kept(end?.kept)).toEqual({ notice: 'c', accepted: 'a', settled: ['rejected b'] });
  });

  it('goes on with unknown ones that may be sent again, beside those that were not accepted', () => {
    const end = settleNotice(dataOf('abc'), all('unknown', 'rejected', 'retry'), FIRST);
    expect(end?.outcome).toEqual({ kind: 'unknown', code: 'UNKNOWN' });
    expect(kept(end?.kept)).toEqual({ notice: 'ac', accepted: '', settled: ['rejected b'] });
  });

  it.each([
    ['at-most-once', dataOf('abc', ONCE), FIRST],
    ['no resend is left', dataOf('abc'), { ...FIRST, possiblySent: 2 }],
  ])('goes on without unknown ones that may not be sent again: %s', (_, data, intent) => {
    const end = settleNotice(data, all('unknown', 'accepted', 'retry'), intent);
    expect(end?.outcome).toMatchObject({ kind: 'retry' });
    expect(kept(end?.kept)).toEqual({ notice: 'c', accepted: 'b', settled: ['unknown a'] });
  });

  it('ends as unknown for exactly the unknown ones, and keeps the rejected ones beside them', () => {
    const end = settleNotice(dataOf('abc', ONCE), all('unknown', 'accepted', 'rejected'), FIRST);
    expect(end?.outcome).toEqual({ kind: 'unknown', code: 'UNKNOWN', final: true });
    expect(kept(end?.kept)).toEqual({ notice: 'a', accepted: 'b', settled: ['rejected c'] });
  });

  it('ends as unknown for an earlier attempt when the last one is accepted', () => {
    const data = dataOf('b', { ...ONCE, settled: [settled('a', 'unknown')] });
    const end = settleNotice(data, all('accepted'), FIRST);
    expect(end?.outcome).toEqual({ kind: 'unknown', code: 'UNKNOWN', final: true, earlier: true });
    expect(kept(end?.kept)).toEqual({ notice: 'a', accepted: 'b', settled: [] });
  });

  it('keeps with an unknown one what was possibly sent of it, whatever becomes of the others', () => {
    const before = { ...FIRST, possiblySent: 2, traceIds: ['t-1', 't-2'] };
    const first = settleNotice(dataOf('abc'), all('unknown', 'accepted', 'retry'), before, 't-3');
    const sends = { possiblySent: 3, traceIds: ['t-1', 't-2', 't-3'] };
    expect(first?.kept.settled).toEqual([{ ...settled('a', 'unknown'), ...sends }]);
    expect(first?.sends).toBeUndefined();
    const last = settleNotice(first?.kept ?? dataOf('c'), all('accepted'), before, 't-4');
    expect(last?.outcome).toMatchObject({ kind: 'unknown', earlier: true });
    expect(last?.sends).toEqual(sends);
  });

  it('ends with what was possibly sent of all unknown ones', () => {
    const first = settleNotice(dataOf('ab', ONCE), all('unknown', 'retry'), FIRST, 't-1');
    const last = settleNotice(first?.kept ?? dataOf('b'), all('unknown'), FIRST, 't-2');
    expect(kept(last?.kept)).toMatchObject({ notice: 'ab', settled: [] });
    expect(last?.sends).toEqual({ possiblySent: 1, traceIds: ['t-1', 't-2'] });
    // Of workers of earlier versions.
    const old = dataOf('b', { ...ONCE, settled: [settled('a', 'unknown')] });
    const end = settleNotice(old, all('accepted'), FIRST, 't-2');
    expect(end?.sends).toEqual({ possiblySent: 1, traceIds: [] });
  });

  it('ends as rejected for exactly the rejected ones, which a redrive sends again', () => {
    const data = dataOf('bc', { settled: [settled('a', 'rejected')] });
    const end = settleNotice(data, all('accepted', 'rejected'), FIRST);
    expect(end?.outcome).toEqual({ kind: 'rejected', code: 'REJECTED' });
    expect(kept(end?.kept)).toEqual({ notice: 'ac', accepted: 'b', settled: [] });
  });

  it('has no further attempt after the last one', () => {
    const last = { ...FIRST, lastAttempt: true };
    const end = settleNotice(dataOf('abc'), all('accepted', 'rejected', 'retry'), last);
    expect(end?.outcome).toEqual({ kind: 'rejected', code: 'REJECTED' });
    expect(kept(end?.kept)).toEqual({ notice: 'bc', accepted: 'a', settled: [] });
  });

  it('is unknown for a contact that is rejected after it was possibly sent', () => {
    const before = { ...FIRST, possiblySent: 1 };
    const end = settleNotice(dataOf('ab'), all('accepted', 'rejected'), before);
    expect(end?.outcome).toEqual({ kind: 'unknown', code: 'REJECTED', final: true, earlier: true });
    expect(kept(end?.kept)).toEqual({ notice: 'b', accepted: 'a', settled: [] });
  });

  it('has one result for all that are left, where an answer has none per contact', () => {
    const left = dataOf('b', { settled: [settled('a', 'rejected')] });
    expect(sameForAll(left, { kind: 'accepted', confirmed: false })).toMatchObject([
      { outcome: 'accepted' },
    ]);
    expect(sameForAll(left, { kind: 'rejected', code: 'NO' })).toMatchObject([
      { outcome: 'rejected', code: 'NO' },
    ]);
    const others: Outcome[] = [
      { kind: 'expired' },
      { kind: 'retry', code: 'ABORTED', counted: false },
    ];
    for (const other of others) expect(sameForAll(left, other)).toBeUndefined();
    expect(sameForAll(dataOf('b'), { kind: 'rejected', code: 'NO' })).toBeUndefined();
  });
});

it('one accepted contact proves that the service accepts', () => {
  const outcome = { kind: 'rejected', code: 'NO' } as const;
  expect(outcomeOfRequest(outcome, [result('rejected'), result('accepted')])).toMatchObject({
    kind: 'accepted',
  });
  expect(outcomeOfRequest(outcome, [result('rejected')])).toBe(outcome);
  expect(outcomeOfRequest(undefined, undefined)).toBeUndefined();
});
