import * as fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { AnswerMask, piecesOfSecrets } from '../../../src/service/response/mask-text.ts';

/** Shorter than what is masked for being opaque. */
const SECRET = 'ak-Zx81qQ';

describe('what is kept of an answer', () => {
  let mask: AnswerMask;
  // The time for one answer is short.
  beforeEach(() => {
    mask = new AnswerMask([piecesOfSecrets([SECRET])]);
  });

  it('has no secret of this program in its message', () => {
    expect(mask.message(`key ${SECRET} is not known`)).toBe('key *** is not known');
  });

  it('has no rest in its message of a value that begins with another one', () => {
    const sent = new AnswerMask(
      [],
      JSON.stringify({ var1: 'Kim', var2: 'Kim Minjun', var3: 'Kim M' }),
    );
    expect(sent.message('no template for Kim Minjun')).toBe('no template for ***');
  });

  it('is read to 1,000 characters; a word that is cut there is left out', () => {
    const words = `${' '.repeat(995)}whole`;
    expect(mask.message(words)).toBe('whole');
    expect(mask.message(`${words}r`)).toBeUndefined();
  });

  it('has no code and no trace id with seven digits in a row, separators or not', () => {
    for (const text of ['t-1234567', 't-1_2.3:4-5--67', '010-1234-567']) {
      expect(mask.traceId(text)).toBeUndefined();
      expect(mask.code(text)).toBeUndefined();
    }
    expect(mask.traceId('t-123456a7/1')).toBe('t-123456a7/1');
    expect(mask.code('E-123.456')).toBe('E-123.456');
  });

  it('has no trace id that repeats a part of the request', () => {
    const sent = new AnswerMask([], Buffer.from('{"contact":"01098765432","var1":"Kx7w"}'));
    expect(sent.traceId('t-Kx7w')).toBeUndefined();
    expect(sent.traceId('a9876543-2000-4000')).toBeUndefined();
    expect(sent.traceId('a9876549-2000-4000')).toBe('a9876549-2000-4000');
  });
});

describe('many values', () => {
  const words = fc.string({
    unit: fc.constantFrom('a', 'A', 'b', 'é', '*', ' ', '1', '가', 'İ', 'Σ', 'ς', 'σ', '-', '😀'),
    minLength: 1,
    maxLength: 12,
  });
  const lettersOf = (text: string) =>
    Array.from(text.normalize('NFKC').replace(/[^\p{L}\p{N}]/gu, ''), (one) =>
      (one.toLowerCase()[0] ?? '').replace('ς', 'σ'),
    ).join('');

  it('leave nothing of six letters in a message, whatever is around them', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(fc.array(words, { maxLength: 8 }), words, (values, around) => {
        const mask = new AnswerMask([], JSON.stringify({ contacts: [{ values }] }));
        const message = mask.message(`${around}${values.join(around)}${around}`) ?? '';
        // What stands before a mask and after it is no word.
        const kept = lettersOf(message.replaceAll('***', 'x'));
        const long = values.map(lettersOf).filter(({ length }) => length >= 6);
        expect(long.filter((letters) => kept.includes(letters))).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('of the last of 10,000 contacts are masked as those of the first', () => {
    const contacts = Array.from({ length: 10_000 }, (_, index) => ({
      contact: `010${20_000_000 + index * 37}`,
      var1: `Order-${100_000 + index}-Kx`,
    }));
    const mask = new AnswerMask([], Buffer.from(JSON.stringify({ templateCode: 'T', contacts })));
    // However busy the machine is, the time for one answer is not over.
    vi.spyOn(performance, 'now').mockReturnValue(0);
    const kept = [contacts.slice(0, 1), contacts.slice(-1)]
      .flat()
      .flatMap(({ contact, var1 }) => [
        mask.message(`1: ${contact} has no ${var1} (${'words of all kinds '.repeat(60)})`),
        mask.code(`C1_${var1}`),
        mask.traceId(`t-1-${var1}`),
      ]);
    vi.restoreAllMocks();
    expect(kept[0]).toContain('has no');
    for (const text of kept) expect(text ?? '').not.toMatch(/Order|Kx|010/);
  });

  it('are not compared any more once the time for one answer is over: nothing is kept', () => {
    const mask = new AnswerMask([], JSON.stringify({ contacts: [{ var1: 'Order-7-Kx' }] }));
    expect(mask.message('no template')).toBe('no template');
    const now = performance.now();
    vi.spyOn(performance, 'now').mockReturnValue(now + 300);
    const texts = [mask.message('no template'), mask.code('BAD'), mask.traceId('t-1')];
    vi.restoreAllMocks();
    expect(texts).toEqual([undefined, undefined, undefined]);
  });

  it('are compared as often for one of many contacts as for one of few', () => {
    const lookUps = (count: number) => {
      const contacts = Array.from({ length: count }, (_, index) => ({ var1: `Order-${index}-Kx` }));
      const mask = new AnswerMask([], JSON.stringify({ contacts }));
      mask.message('the first one reads what was sent');
      const has = vi.spyOn(Set.prototype, 'has');
      mask.message('no template for Order-7-Kx');
      const calls = has.mock.calls.length;
      vi.restoreAllMocks();
      return calls;
    };
    expect(lookUps(1_000)).toBeLessThan(1.5 * lookUps(10));
  });
});
