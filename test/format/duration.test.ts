import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDuration, writeDuration } from '../../src/format/time.ts';

describe('parseDuration', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
    ['24 h', 86_400_000],
    ['0s', 0],
  ])('%s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    '',
    's',
    '30',
    '-5s',
    '+5s',
    '1.5h',
    '1h30m',
    '30S',
    '30 sec',
    '5min',
    '30  s',
    '9007199254740993ms',
  ])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it('reads a number alone in the unit that it is asked for', () => {
    expect(parseDuration('30', 's')).toBe(30_000);
    expect(parseDuration('30', 'ms')).toBe(30);
    expect(parseDuration('30m', 'ms')).toBe(1_800_000);
  });
});

describe('writeDuration', () => {
  it.each([
    [0, '0s'],
    [250, '250ms'],
    [1_500, '1500ms'],
    [90_000, '90s'],
    [300_000, '5m'],
    [86_400_000, '1d'],
    [90_000_000, '25h'],
  ])('%d', (ms, text) => {
    expect(writeDuration(ms)).toBe(text);
  });

  it('writes what parseDuration reads', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 31_536_000_000 }), (ms) => {
        expect(parseDuration(writeDuration(ms))).toBe(ms);
      }),
    );
  });
});
