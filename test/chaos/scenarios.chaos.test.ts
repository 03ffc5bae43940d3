import { describe, expect, it } from 'vitest';
import { DELIVERY_POLICIES } from '../../src/contracts/delivery.ts';
import { policiesOf, scenariosOfRun } from './support/catalogue.ts';
import { play } from './support/play.ts';

const SCENARIOS = scenariosOfRun();

describe.each(DELIVERY_POLICIES)('%s', (delivery) => {
  const named = SCENARIOS.filter((_, index) => policiesOf(index).includes(delivery)).map(
    (scenario) => [scenario.name, scenario] as const,
  );

  it.each(named)('%s', async (_name, scenario) => {
    expect(await play(scenario, delivery)).toEqual([]);
  });
});
