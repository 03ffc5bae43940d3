import { describe, expect, it } from 'vitest';
import { AnswerMask } from '../../../src/service/response/mask-text.ts';

/** Shorter than what is masked for being opaque. */
const SECRET = 'ak-Zx81qQ';

describe('what is kept of an answer', () => {
  const mask = new AnswerMask([SECRET]);

  it('has no secret of this program in its message', () => {
    expect(mask.message(`key ${SECRET} is not known`)).toBe('key *** is not known');
  });

  it('has no code and no trace id that contains one', () => {
    expect(mask.code(`BAD_${SECRET}`)).toBeUndefined();
    expect(mask.traceId(`t-${SECRET}-1`)).toBeUndefined();
    expect(mask.code('BAD_KEY')).toBe('BAD_KEY');
    expect(mask.traceId('t-7fA-1')).toBe('t-7fA-1');
  });
});
