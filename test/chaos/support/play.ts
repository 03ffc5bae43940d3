import { expect, inject } from 'vitest';
import type { DeliveryPolicy } from '../../../src/contracts/delivery.ts';
import { brokenLaws, type Promises, type Verdict } from './laws.ts';
import { addRow } from './report.ts';
import { BOUNDS, type Scenario } from './scenario.ts';
import { Stage } from './stage.ts';

/** Plays a scenario under a policy, leaves its row, and fails with the laws that were broken. */
export async function play(scenario: Scenario, delivery: DeliveryPolicy): Promise<void> {
  const { name, plan, disturb, bound, hold, harmless } = scenario;
  const stage = await Stage.open(delivery, plan);
  try {
    await stage.steady();
    const strikes = await disturb(stage);
    const verdict = await stage.verdict(strikes);
    conclude(name, verdict, { boundMs: BOUNDS[bound], hold, harmless });
  } finally {
    await stage.close();
  }
}

/** Leaves the row of a scenario, whatever became of it, and fails with the laws that were broken. */
export function conclude(scenario: string, verdict: Verdict, promises: Promises): void {
  const broken = brokenLaws(verdict, promises);
  const { holds, ...figures } = verdict;
  addRow(inject('chaosRows'), {
    scenario,
    boundMs: promises.boundMs,
    broken,
    holds: [...holds],
    ...figures,
  });
  expect(broken).toEqual([]);
}
