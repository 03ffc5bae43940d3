import { describe, expect, it } from 'vitest';
import { AnswerMask } from '../../../src/service/response/mask-text.ts';

/** Shorter than what is masked for being opaque. */
const SECRET = 'ak-Zx81qQ';

describe('what is kept of an answer', () => {
  const mask = new AnswerMask([SECRET]);

  it('has no secret of this program in its message', () => {
    expect(mask.message(`key ${SECRET} is not known`)).toBe('key *** is not known');
  });

  it('has no name in its message that was sent and is URL-encoded in EUC-KR', () => {
    const sent = new AnswerMask([], JSON.stringify({ contacts: [{ name: '홍길동' }] }));
    expect(sent.message('name=%C8%AB%B1%E6%B5%BF')).toBe('***');
  });

  it('has no rest in its message of a value that begins with another one', () => {
    const sent = new AnswerMask(
      [],
      JSON.stringify({ var1: 'Kim', var2: 'Kim Minjun', var3: 'Kim M' }),
    );
    expect(sent.message('no template for Kim Minjun')).toBe('no template for ***');
  });

  it('is read to 4,000 characters; a word that is cut there is left out', () => {
    const words = `${' '.repeat(3_995)}whole`;
    expect(mask.message(words)).toBe('whole');
    expect(mask.message(`${words}r`)).toBeUndefined();
  });

  it('has no code and no trace id that contains one', () => {
    expect(mask.code(`BAD_${SECRET}`)).toBeUndefined();
    expect(mask.traceId(`t-${SECRET}-1`)).toBeUndefined();
    expect(mask.code('BAD_KEY')).toBe('BAD_KEY');
    expect(mask.traceId('t-7fA-1')).toBe('t-7fA-1');
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
