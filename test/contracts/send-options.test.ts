import { describe, expect, it } from 'vitest';
import { parseInput } from '../../src/contracts/parse-input.ts';
import { sendOptionsSchema } from '../../src/contracts/send-options.ts';
import { InputError } from '../../src/contracts/errors.ts';

const DAY = 86_400_000;
const inMs = (ms: number) => Date.now() + ms;

function fieldsOf(options: unknown): string[] {
  try {
    parseInput(sendOptionsSchema, options, 'NOTICE_INVALID', 'options');
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    // Every problem has our text, and not that of the library.
    return error.issues.map(({ field, problem }) =>
      /^expected |unknown option$/.test(problem) ? field : problem,
    );
  }
  return [];
}

describe('send options: refused, with the option named', () => {
  it.each([
    { option: 'idempotencyKey', values: ['', 7, null, {}, [], true, 'x'.repeat(201)] },
    { option: 'delay', values: [-1, 1.5, '100', null, Number.NaN, Infinity, 367 * DAY, {}] },
    { option: 'priority', values: [-1, 0.5, '1', null, Number.NaN, 2_097_152, true] },
    { option: 'sendAt', values: ['', 'soon', '2999-01-01', '2999-01-01T10:00:00', new Date('x')] },
    { option: 'sendAt', values: [null, true, {}, 0, -1, 1.5, inMs(400 * DAY)] },
    {
      option: 'expiresAt',
      values: ['', 'soon', null, {}, 0, -5, new Date('x'), inMs(-1), '2001-01-01T00:00:00+09:00'],
    },
  ])('$option', ({ option, values }) => {
    for (const value of values) {
      expect([value, fieldsOf({ [option]: value })]).toEqual([value, [`options.${option}`]]);
    }
  });

  it('an unknown option, several at once', () => {
    expect(fieldsOf({ dealy: 5, idempotencykey: 'a', __proto__: null })).toEqual([
      'options.dealy',
      'options.idempotencykey',
    ]);
    expect(fieldsOf({ delay: -1, priority: -1, x: 1 })).toHaveLength(3);
  });

  it.each([null, 7, 'x', [], true])('%s instead of options', (options) => {
    expect(fieldsOf(options)).toEqual(['options']);
  });

  it('delay together with sendAt', () => {
    expect(fieldsOf({ delay: 0, sendAt: inMs(60_000) })).toEqual(['options.sendAt']);
  });

  it('a time in the past is now, so that an end before now is refused', () => {
    expect(fieldsOf({ sendAt: inMs(-60_000) })).toEqual([]);
    expect(fieldsOf({ sendAt: inMs(-60_000), expiresAt: inMs(60_000) })).toEqual([]);
    expect(fieldsOf({ sendAt: inMs(-60_000), expiresAt: inMs(-30_000) })).toEqual([
      'options.expiresAt',
    ]);
    // With a key the queue decides, which may know it.
    expect(fieldsOf({ idempotencyKey: 'k', expiresAt: inMs(-30_000) })).toEqual([]);
  });

  it('an end before the notice may first be sent', () => {
    expect(fieldsOf({ delay: 60_000, expiresAt: inMs(30_000) })).toEqual(['options.expiresAt']);
    expect(fieldsOf({ sendAt: inMs(60_000), expiresAt: inMs(60_000) - 1_000 })).toEqual([
      'options.expiresAt',
    ]);
  });
});

describe('send options: taken', () => {
  it('every form of a time, as milliseconds since the epoch', () => {
    const at = Math.ceil(inMs(3_600_000) / 1_000) * 1_000;
    const seoul = `${new Date(at + 9 * 3_600_000).toISOString().slice(0, 19)}+09:00`;
    for (const sendAt of [at, new Date(at), new Date(at).toISOString(), seoul]) {
      const parsed = parseInput(sendOptionsSchema, { sendAt }, 'NOTICE_INVALID');
      expect(parsed).toEqual({ sendAt: at });
    }
  });

  it('none, undefined ones, and the bounds', () => {
    expect(fieldsOf({})).toEqual([]);
    expect(fieldsOf({ delay: undefined, sendAt: undefined, idempotencyKey: undefined })).toEqual(
      [],
    );
    expect(fieldsOf({ delay: 366 * DAY, priority: 2_097_151, idempotencyKey: 'x' })).toEqual([]);
    expect(fieldsOf({ delay: 0, priority: 0, expiresAt: inMs(60_000) })).toEqual([]);
  });
});
