import { describe, expect, it } from 'vitest';
import { scenariosUnder } from './support/catalogue.ts';
import { play } from './support/play.ts';

// The other scenarios are in files of their own: files run side by side, and the last one should not be long.
describe('at-least-once', () => {
  const named = scenariosUnder('at-least-once', 3).map(
    (scenario) => [scenario.name, scenario] as const,
  );

  it.each(named)('%s', async (_name, scenario) => {
    expect(await play(scenario, 'at-least-once')).toEqual([]);
  });
});
