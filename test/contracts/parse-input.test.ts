import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseInput } from '../../src/contracts/parse-input.ts';
import { InputError } from '../../src/contracts/errors.ts';

describe('parseInput', () => {
  const schema = z.strictObject({ a: z.string('expected text') }, 'expected an object');

  function errorOf(value: unknown, ...names: [prefix?: string, root?: string]): InputError {
    try {
      parseInput(schema, value, 'NOTICE_INVALID', ...names);
    } catch (error) {
      if (error instanceof InputError) return error;
      throw error;
    }
    throw new Error('it was taken');
  }

  it('answers the parsed value', () => {
    expect(parseInput(schema, { a: 'x' }, 'NOTICE_INVALID')).toEqual({ a: 'x' });
  });

  it('contains code, field and problem in one line, and the remedy', () => {
    const error = errorOf({ a: 1, b: 2 }, 'options');
    expect(error.code).toBe('NOTICE_INVALID');
    expect(error.issues).toEqual([
      { field: 'options.a', problem: 'expected text' },
      { field: 'options.b', problem: 'unknown option' },
    ]);
    expect(error.message).toBe(
      'options.a: expected text; options.b: unknown option. ' +
        'Correct what is listed above and try again.',
    );
  });

  it('refuses a promise, which has no fields', () => {
    const optional = z.strictObject({ a: z.string().optional() });
    const parse = () => parseInput(optional, Promise.resolve({ a: 'x' }), 'CONFIG_INVALID');
    expect(parse).toThrow('value: expected a value, got a promise: await it.');
  });

  it.each(['01012345678', 'x01012345678', 'Kim & Co', '"a"', '', 'x'.repeat(65)])(
    'does not repeat %j, which a caller put in the place of a name',
    (name) => {
      const error = errorOf({ a: 'x', [name]: 1 }, 'options');
      expect(error.issues).toEqual([{ field: 'options.(not shown)', problem: 'unknown option' }]);
      expect(errorOf({ a: 'x', [name]: 1 }).issues[0]?.field).toBe('(not shown)');
    },
  );

  it.each(['x-y', '이름', '_csrf', '$set', 'var12345'])('names %j', (name) => {
    expect(errorOf({ a: 'x', [name]: 1 }).issues[0]?.field).toBe(name);
  });

  it('names the value as a whole', () => {
    expect(errorOf(7).issues).toEqual([{ field: 'value', problem: 'expected an object' }]);
    expect(errorOf(7, '', 'notice').issues[0]?.field).toBe('notice');
    expect(errorOf(7, 'options').issues[0]?.field).toBe('options');
  });
});
