import type { Sender } from '../legs/single-sends.ts';
import type { Race, Rounds } from '../results.ts';
import type { Stage } from './stage.ts';
import type { Timed } from './timed.ts';

/** What each run of a contestant has at least. */
type AnyRun = Pick<Timed, 'rate' | 'cpuUs'>;

/** Does a piece of work and is timed. */
export interface Contestant<Run extends AnyRun = Timed> {
  readonly name: string;
  readonly run: () => Promise<Run>;
}

/** Lets contestants do the same work in turn, and sums up the figures of all races. */
export async function race(
  stage: Stage,
  contestants: readonly Contestant[],
  rounds: number,
  say: (line: string) => void,
): Promise<Race> {
  const all = await inTurn(stage, contestants, rounds, say);
  return Object.fromEntries([...all].map(([name, runs]) => [name, roundsOf(runs)]));
}

/**
 * Runs contestants in turn, several rounds, each round beginning with another one: what the machine
 * does beside meets all of them.
 *
 * @returns the runs of each by its name, in the order of the rounds
 */
export async function inTurn<Run extends AnyRun>(
  stage: Stage,
  contestants: readonly Contestant<Run>[],
  rounds: number,
  say: (line: string) => void,
): Promise<ReadonlyMap<string, readonly Run[]>> {
  const all = new Map<string, Run[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contestants.length; turn++) {
      const contestant = contestants[(turn + round) % contestants.length];
      if (contestant === undefined) continue;
      await stage.clear();
      const timed = await contestant.run();
      all.get(contestant.name)?.push(timed);
      const rate = Math.round(timed.rate).toLocaleString('en');
      say(`  ${contestant.name}: ${rate}/s, ${timed.cpuUs.toFixed(1)} us`);
    }
  }
  return all;
}

/** Senders as contestants, those that are possible here. */
export function contestants(
  stage: Stage,
  senders: readonly Sender[],
  totals: { readonly warm: number; readonly all: number },
): Contestant[] {
  return senders
    .filter(({ possible }) => possible(stage))
    .map(({ name, run }) => ({ name, run: () => run(stage, totals) }));
}

/** A thousandth is beyond what can be measured; the file of results stays readable. */
export const rounded = (figure: number) => Number(figure.toPrecision(4));

function roundsOf(runs: readonly Timed[]): Rounds {
  const each = (figure: (timed: Timed) => number) => runs.map((timed) => rounded(figure(timed)));
  return {
    rate: each(({ rate }) => rate),
    cpuUs: each(({ cpuUs }) => cpuUs),
    redisCpuUs: each(({ redisCpuUs }) => redisCpuUs),
    serviceCpuUs: each(({ serviceCpuUs }) => serviceCpuUs),
    peakMb: each(({ peakMb }) => peakMb),
  };
}
