import { endsByCode } from './evidence.ts';
import { conclude, type Promises } from './laws.ts';
import type { Plan } from './settings.ts';
import { Stage } from './stage.ts';

/** Whether this run is the short form: of each kind one scenario at least, and a storm on fewer contacts. */
export const IS_SHORT = process.env['CHAOS_SHORT'] === '1';

/** Something that is broken on purpose, and what it promises beyond the laws. */
export interface Scenario extends Promises {
  readonly name: string;
  /** The short form plays it, too. */
  readonly inShort?: true;
  readonly plan?: Partial<Plan>;
  /**
   * Breaks things while the loads are sent, and mends them.
   *
   * @returns how often the faults struck, as those who met them say; a scenario of 0 is void
   */
  readonly disturb: (stage: Stage) => Promise<number>;
}

/** The scenarios that this run plays, with their names: a test for each. */
export const toPlay = (scenarios: readonly Scenario[]) =>
  scenarios
    .filter(({ inShort = false }) => inShort || !IS_SHORT)
    .map((scenario) => [scenario.name, scenario] as const);

/** Plays a scenario; answers the laws that it broke. */
export async function play({ name, plan, disturb, ...promises }: Scenario): Promise<string[]> {
  const stage = await Stage.open(plan);
  try {
    await stage.steady();
    const verdicts = await stage.verdict(await disturb(stage));
    const broken = conclude(name, verdicts, promises);
    if (broken.length > 0)
      console.log(`ends of attempts: ${JSON.stringify(endsByCode(stage.fleet))}`);
    return broken;
  } finally {
    await stage.close();
  }
}
