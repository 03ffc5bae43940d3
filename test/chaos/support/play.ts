import { inject } from 'vitest';
import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import { brokenLaws, type Promises, type Verdict } from './laws.ts';
import { addRow, lineOf } from './report.ts';
import { BOUNDS, type Scenario } from './scenario.ts';
import { Stage } from './stage.ts';

/** Plays a scenario under a policy and leaves its row; answers the laws that it broke. */
export async function play(scenario: Scenario, delivery: DeliveryPolicy): Promise<string[]> {
  const { name, plan, disturb, bound, ...promises } = scenario;
  const stage = await Stage.open(delivery, plan);
  try {
    await stage.steady();
    const strikes = await disturb(stage);
    const verdict = await stage.verdict(strikes);
    const boundMs = bound === undefined ? undefined : BOUNDS[bound];
    const broken = conclude(name, verdict, { boundMs, ...promises });
    if (broken.length > 0) console.log(`ends of attempts: ${JSON.stringify(stage.endsByCode())}`);
    return broken;
  } finally {
    await stage.close();
  }
}

/** Leaves the row of a scenario, whatever became of it; answers the laws that it broke. */
export function conclude(
  scenario: string,
  verdict: Verdict,
  promises: Promises,
  note?: string,
): string[] {
  const broken = brokenLaws(verdict, promises);
  const { holds, ...figures } = verdict;
  const { boundMs } = promises;
  const row = { scenario, boundMs, broken, holds: [...holds], note, ...figures };
  addRow(inject('chaosRows'), row);
  console.log(lineOf(row));
  return broken;
}
