import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import { brokenLaws, type Promises, type Verdict } from './laws.ts';
import { BOUNDS, type Scenario } from './scenario.ts';
import { Stage } from './stage.ts';

/** Plays a scenario under a policy; answers the laws that it broke. */
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

/** Prints what became of a scenario; answers the laws that it broke. */
export function conclude(
  scenario: string,
  verdict: Verdict,
  promises: Promises,
  note = '',
): string[] {
  const broken = brokenLaws(verdict, promises);
  const { delivery, faults, strikes, handedOver, lost, twice, again, unknown } = verdict;
  console.log(
    `${delivery}, ${scenario}: ${broken.length === 0 ? 'ok' : `BROKEN: ${broken.join('; ')}`}; ` +
      `${faults} faults took effect ${strikes} times, ${handedOver} contacts, lost ${lost}, ` +
      `twice ${twice} of ${again} resent, unknown ${unknown}, tokens ${verdict.issued}, ` +
      `recovery ${Math.max(0, ...verdict.recoveriesMs)} ms of ${promises.boundMs ?? 'any'}, ` +
      `longest pause ${verdict.longestGapMs} ms, ` +
      `${verdict.mostCommands} commands a second of a process in pauses. ${note}`,
  );
  return broken;
}
