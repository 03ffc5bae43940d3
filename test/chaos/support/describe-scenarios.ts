import { describe, expect, it } from 'vitest';
import type { DeliveryPolicy } from '../../../src/contracts/delivery.ts';
import { scenariosUnder } from './catalogue.ts';
import { play } from './play.ts';

/**
 * Plays a part of the scenarios that disturb a running fleet, one at a time. Each part is a file of its own: files run
 * side by side, and the last one of a run should not be long.
 */
export function describeScenarios(policy: DeliveryPolicy, part: 1 | 2 | 3): void {
  describe.each([policy])('%s', (delivery) => {
    const named = scenariosUnder(delivery, part).map(
      (scenario) => [scenario.name, scenario] as const,
    );

    it.each(named)('%s', async (_name, scenario) => {
      expect(await play(scenario, delivery)).toEqual([]);
    });
  });
}
