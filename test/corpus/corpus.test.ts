import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { tierOf } from '../support/tiers.ts';
import { ANSWER_CASES } from './answers.ts';
import type { Case } from './case.ts';
import { CONTACT_CASES } from './contacts.ts';
import { JSON_CASES } from './json-lines.ts';
import { QUEUED_CASES } from './queued.ts';
import { OPEN_POINTS, REVIEW_CASES } from './review.ts';
import { SETTING_CASES } from './settings.ts';

const INPUTS = [
  ...CONTACT_CASES,
  ...JSON_CASES,
  ...QUEUED_CASES,
  ...SETTING_CASES,
  ...ANSWER_CASES,
];

/** Whether a test file exists, belongs to a tier and contains the words of the case. */
function isRun([, file, words]: Case): boolean {
  const place = path.join('test', file);
  return (
    tierOf(place) !== undefined && existsSync(place) && readFileSync(place, 'utf8').includes(words)
  );
}

describe('the corpus', () => {
  it('has every kind of bad input once, by number', () => {
    const numbers = INPUTS.map(([name]) => Number.parseInt(name, 10));
    expect(numbers).toEqual(Array.from({ length: 107 }, (_, index) => index + 1));
  });

  it('has every point of the review', () => {
    const points = new Set(REVIEW_CASES.map(([name]) => Number.parseInt(name, 10)));
    expect([...points, ...OPEN_POINTS].toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 18 }, (_, index) => index + 1),
    );
  });

  it.each([...INPUTS, ...REVIEW_CASES])('%s is run by %s', (...one) => {
    expect([one, isRun(one)]).toEqual([one, true]);
  });
});
