import { describe, expect, it } from 'vitest';
import { DELIVERY_POLICIES } from '../../src/contracts/delivery.ts';
import { scenariosOfRun } from './support/catalogue.ts';
import { play } from './support/play.ts';

const NAMED = scenariosOfRun().map((scenario) => [scenario.name, scenario] as const);

describe.each(DELIVERY_POLICIES)('%s', (delivery) => {
  it.each(NAMED)('%s', async (_name, scenario) => {
    expect(await play(scenario, delivery)).toEqual([]);
  });
});
