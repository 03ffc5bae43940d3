import { describe, expect, it } from 'vitest';
import type { DeliveryPolicy } from '../../../src/contracts/delivery.ts';
import { scenariosUnder } from './catalogue.ts';
import { play } from './play.ts';

/** Declares a test for every other scenario. Files run side by side, so the scenarios are in several. */
export function playScenarios(delivery: DeliveryPolicy, first: 0 | 1): void {
  const named = scenariosUnder(delivery, first).map(
    (scenario) => [scenario.name, scenario] as const,
  );
  describe(delivery, () => {
    it.each(named)('%s', async (_name, scenario) => {
      expect(await play(scenario, delivery)).toEqual([]);
    });
  });
}
