import { describe, expect, it } from 'vitest';
import { DELIVERY_POLICIES } from '../../src/contracts/delivery.ts';
import { play } from './support/play.ts';
import { scenariosFor } from './support/catalogue.ts';

describe.each(DELIVERY_POLICIES)('%s', (delivery) => {
  it.each(scenariosFor(delivery))('$name', async (scenario) => {
    expect(await play(scenario, delivery)).toEqual([]);
  });
});
