import { expect, it } from 'vitest';
import { fuzz } from './support/target.ts';
import { ANSWER_TARGETS } from './targets/answers.ts';
import { CONFIGURATION_TARGETS } from './targets/configuration.ts';
import { JOB_TARGETS } from './targets/jobs.ts';
import { LIST_TARGETS } from './targets/lists.ts';

const TARGETS = [...JOB_TARGETS, ...ANSWER_TARGETS, ...LIST_TARGETS, ...CONFIGURATION_TARGETS];

it.each(TARGETS)('$name: hostile input is read or refused', async (one) => {
  await expect(fuzz(one, { runs: 100 })).resolves.toBeUndefined();
});

it('none of it has changed what every object has', () => {
  expect(Object.keys(Object.prototype)).toEqual([]);
});
