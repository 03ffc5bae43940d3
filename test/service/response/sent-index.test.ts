import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { applyRules, type AnswerRules } from '../../../src/service/response/answer-rules.ts';
import { AnswerMask } from '../../../src/service/response/mask-text.ts';
import { SentIndex } from '../../../src/service/response/sent-index.ts';

/** What the index must come to, without one: each value in turn is compared with the whole text. */
function comparedInTurn(text: string, values: readonly string[]): string {
  let masked = text;
  for (const value of values) {
    const lower = masked.toLowerCase();
    const inside = lower.length === masked.length ? lower : masked;
    const wanted = value.toLowerCase();
    const isWord = value.length < 6 && /^[\0-\u007f]*$/.test(value);
    let [done, from] = ['', 0];
    for (;;) {
      const at = inside.indexOf(wanted.slice(0, 12), from);
      if (at < 0) break;
      let end = at + Math.min(12, wanted.length);
      while (end - at < wanted.length && end < inside.length && inside[end] === wanted[end - at]) {
        end += 1;
      }
      const around = `${masked[at - 1] ?? ''}${masked[end] ?? ''}`;
      const isPart = isWord && /[\p{Script=Latin}\p{N}]/u.test(around);
      done += masked.slice(from, at) + (isPart ? masked.slice(at, end) : '***');
      from = end;
    }
    masked = done + masked.slice(from);
  }
  return masked;
}

/** Few letters, so that values are in one another: capitals, masks, and letters whose case is unusual. */
const words = (maxLength: number) =>
  fc.string({
    unit: fc.constantFrom('a', 'A', 'b', 'é', '*', ' ', '1', '가', 'İ', 'Σ', 'ς', 'σ', '𐐀', '😀'),
    minLength: 1,
    maxLength,
  });
const common = fc.constantFrom('', 'http://shop/', 'aaaaaaaaaaaa');
const value = fc.tuple(common, words(8)).map(([head, rest]) => `${head}${rest}`);
const valueList = fc
  .uniqueArray(value, { maxLength: 12 })
  .map((all) => [...all].sort((one, other) => other.length - one.length));

describe('values that are looked for by an index', () => {
  it('are masked as if each were compared with the text', () => {
    const text = fc.array(fc.oneof(value, words(10)), { maxLength: 6 }).map((all) => all.join(''));
    fc.assert(
      fc.property(text, valueList, words(3), (around, values, between) => {
        const echo = `${around}${values.join(between)}`;
        expect(new SentIndex(values, []).blank(echo)).toBe(comparedInTurn(echo, values));
      }),
      { numRuns: 3_000 },
    );
  });

  it('a value of which another has the same beginning is masked as before', () => {
    const values = ['http://shop/order/1', 'http://shop/order/2'];
    const text = 'see HTTP://SHOP/ORDER/2 and http://shop/';
    expect(new SentIndex(values, []).blank(text)).toBe(comparedInTurn(text, values));
  });
});

describe('an answer with results per contact', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const RULES: AnswerRules = {
    rules: [],
    results: {
      status: '2xx',
      path: 'results',
      contact: 'contact',
      rules: [
        { path: 'status', value: 'OK', outcome: 'accepted' },
        { path: 'status', outcome: 'rejected' },
      ],
      unlisted: 'unknown',
    },
  };
  const contactsOf = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      contact: `010${10_000_000 + index * 37}`,
      var1: `Order-${1_000 + index}-Kx`,
      var2: `https://shop.example/orders/${1_000 + index}`,
    }));

  /** Reads results for so many contacts; each message and code is another one. */
  function read(count: number, status: (index: number) => 'OK' | 'FAIL') {
    const contacts = contactsOf(count);
    const body = Buffer.from(JSON.stringify({ templateCode: 'T', contacts }));
    const results = contacts.map(({ contact, var1 }, index) => ({
      contact,
      status: status(index),
      code: `C${index}`,
      message: `${index}: ${contact} has no ${var1}`,
      traceId: `t-${index}-abcd`,
    }));
    const spies = [
      vi.spyOn(String.prototype, 'normalize'),
      vi.spyOn(String.prototype, 'toLowerCase'),
      vi.spyOn(String.prototype, 'indexOf'),
      vi.spyOn(String.prototype, 'includes'),
      vi.spyOn(String.prototype, 'slice'),
      vi.spyOn(Buffer.prototype, 'includes'),
    ];
    const ruled = applyRules(
      RULES,
      { json: { results }, status: 200, body: 'json' },
      () => contacts.map(({ contact }) => contact),
      new AnswerMask([], body),
    );
    const looks = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    vi.restoreAllMocks();
    return { results: ruled.results ?? [], looks };
  }

  it('is compared as often for a contact of many as for one of few', () => {
    const [few, many] = [read(20, () => 'FAIL'), read(200, () => 'FAIL')];
    expect(many.looks / 200).toBeLessThan(1.1 * (few.looks / 20));
    expect(many.results).toHaveLength(200);
    expect(many.results[7]).toMatchObject({ outcome: 'rejected', code: 'C7' });
    for (const { message } of many.results) expect(message).toMatch(/^\d+: \*\*\* has no \*\*\*$/);
  });

  it('is not compared anew for a text that it repeats, nor for contacts that were accepted', () => {
    const mask = new AnswerMask([], JSON.stringify({ contacts: contactsOf(100) }));
    expect(mask.message('blocked')).toBe('blocked');
    expect(mask.code('BLOCKED')).toBe('BLOCKED');
    const normalize = vi.spyOn(String.prototype, 'normalize');
    expect(mask.message('blocked')).toBe('blocked');
    expect(mask.code('BLOCKED')).toBe('BLOCKED');
    expect(normalize).not.toHaveBeenCalled();
    const message = vi.spyOn(AnswerMask.prototype, 'message');
    const { results } = read(10, () => 'OK');
    expect(results.map(({ outcome }) => outcome)).toEqual(results.map(() => 'accepted'));
    expect(message).not.toHaveBeenCalled();
  });
});
