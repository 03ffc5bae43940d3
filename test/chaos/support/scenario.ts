import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import { conclude, type Promises } from './laws.ts';
import type { Plan } from './settings.ts';
import { Stage } from './stage.ts';

/** Something that is broken on purpose, and what it promises beyond the laws. */
export interface Scenario extends Promises {
  readonly name: string;
  readonly plan?: Partial<Plan>;
  /**
   * Breaks things while the load is sent, and mends them.
   *
   * @returns how often the faults struck, as those who met them say; a scenario of 0 is void
   */
  readonly disturb: (stage: Stage) => Promise<number>;
}

/** Plays a scenario under a policy; answers the laws that it broke. */
export async function play(scenario: Scenario, delivery: DeliveryPolicy): Promise<string[]> {
  const { name, plan, disturb, ...promises } = scenario;
  const stage = await Stage.open(delivery, plan);
  try {
    await stage.steady();
    const verdict = await stage.verdict(await disturb(stage));
    const broken = conclude(name, verdict, promises);
    if (broken.length > 0) console.log(`ends of attempts: ${JSON.stringify(stage.endsByCode())}`);
    return broken;
  } finally {
    await stage.close();
  }
}
