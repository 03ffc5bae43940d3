import { describe, expect, it } from 'vitest';
import { scenariosUnder } from './support/catalogue.ts';
import { play } from './support/play.ts';

// The other scenarios are in files of their own: files run side by side, and the last one should not be long.
describe('at-most-once', () => {
  const named = scenariosUnder('at-most-once', 3).map(
    (scenario) => [scenario.name, scenario] as const,
  );

  it.each(named)('%s', async (_name, scenario) => {
    expect(await play(scenario, 'at-most-once')).toEqual([]);
  });
});
