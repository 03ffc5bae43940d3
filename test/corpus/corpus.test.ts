import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { tierOf } from '../support/tiers.ts';
import { ANSWER_CASES } from './answers.ts';
import type { Case } from './case.ts';
import { CONTACT_CASES } from './contacts.ts';
import { JSON_CASES } from './json-lines.ts';
import { QUEUED_CASES } from './queued.ts';
import { INPUT_CASES } from './review/input.ts';
import { REVIEW_LINES } from './review/lines.ts';
import { NETWORK_CASES } from './review/network.ts';
import { OPS_SERVER_CASES } from './review/ops-server.ts';
import { PRIVACY_CASES } from './review/privacy.ts';
import { SETTING_CASES } from './settings.ts';

const INPUTS = [
  ...CONTACT_CASES,
  ...JSON_CASES,
  ...QUEUED_CASES,
  ...SETTING_CASES,
  ...ANSWER_CASES,
];

const REVIEW = [...PRIVACY_CASES, ...OPS_SERVER_CASES, ...INPUT_CASES, ...NETWORK_CASES];

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

  it('has every line of the review once', () => {
    const lines = Object.entries(REVIEW_LINES).flatMap(([point, ofPoint]) =>
      ofPoint.map((line) => `${point} ${line}`),
    );
    expect(REVIEW.map(([name]) => name)).toEqual(lines);
    // Point 8 was about a sign-in that does not exist any more.
    const points = Array.from({ length: 18 }, (_, index) => `${index + 1}`).filter(
      (point) => point !== '8',
    );
    expect(Object.keys(REVIEW_LINES)).toEqual([...points, 'proof']);
  });

  it.each([...INPUTS, ...REVIEW])('%s is run by %s', (...one) => {
    expect([one, isRun(one)]).toEqual([one, true]);
  });
});
