import { describe, expect, it } from 'vitest';
import { scenariosUnder } from './support/catalogue.ts';
import { play } from './support/play.ts';

// The other policy has a file of its own: files run side by side.
describe('at-least-once', () => {
  const named = scenariosUnder('at-least-once').map(
    (scenario) => [scenario.name, scenario] as const,
  );

  it.each(named)('%s', async (_name, scenario) => {
    expect(await play(scenario, 'at-least-once')).toEqual([]);
  });
});
