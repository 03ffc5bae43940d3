import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { bisect } from '../../../workers/send/chunk-settlement.ts';

const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'HTTP_503' };
const RETRY: Outcome = { kind: 'retry', code: 'ECONNREFUSED', counted: true };
const HOLD: Outcome = { kind: 'hold', hold: 'credit', code: 'HTTP_402' };
const REJECTED = { code: 'HTTP_400', detail: '' };

describe('a bisection that ends early, at-least-once', () => {
  it.each<[string, Outcome | undefined, boolean]>([
    ['unknown', UNKNOWN, true],
    ['provably not taken', RETRY, false],
    ['a hold', HOLD, false],
    ['not started', undefined, false],
  ])(
    '%s: the rest goes back, in doubt only where it may have been taken',
    async (_, last, possiblySent) => {
      const answers = [ACCEPTED, last];
      const sent: (readonly number[])[] = [];
      const { settlement, ended } = await bisect({
        contacts: [1, 2, 3, 4],
        rejected: REJECTED,
        delivery: 'at-least-once',
        send: (part) => {
          sent.push(part);
          return Promise.resolve({ outcome: answers.shift(), status: undefined, detail: '' });
        },
        encode: (part) => Promise.resolve(Buffer.from(JSON.stringify(part))),
      });
      expect(sent).toEqual([
        [1, 2],
        [3, 4],
      ]);
      expect(ended).toBe(last);
      expect(settlement).toEqual({
        accepted: 2,
        failed: [],
        rest: { size: 2, payload: Buffer.from('[3,4]'), possiblySent },
      });
    },
  );
});
