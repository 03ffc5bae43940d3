import { expect, it } from 'vitest';
import { scenariosUnder } from './scenarios/all.ts';
import { play } from './support/scenario.ts';

// The other policy has a file of its own: files run side by side.
it.each(scenariosUnder('at-most-once'))('at-most-once: %s', async (_name, scenario) => {
  expect(await play(scenario, 'at-most-once')).toEqual([]);
});
