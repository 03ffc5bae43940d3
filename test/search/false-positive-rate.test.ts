import { expect, it } from 'vitest';
import { describeFalsePositiveRate } from '../../src/search/find-answer.ts';

it.each([
  [0, 'less than 0.01 %'],
  [2.9e-7, 'less than 0.01 %'],
  [0.0001, '0.010 %'],
  [0.0123, '1.2 %'],
])('%s is %s', (chance, text) => {
  expect(describeFalsePositiveRate(chance)).toBe(text);
});
