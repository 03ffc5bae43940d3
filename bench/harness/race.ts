import type { Sender } from '../legs/single-sends.ts';
import type { Race, Rounds } from '../results.ts';
import type { Stage } from './stage.ts';
import type { Timed } from './timed.ts';

/** Somebody who does a piece of work and is timed. */
export interface Contestant {
  readonly name: string;
  readonly run: () => Promise<Timed>;
}

/**
 * Lets contestants do the same work in turn, several rounds, each round beginning with another one:
 * what the machine does beside meets all of them.
 */
export async function race(
  stage: Stage,
  contestants: readonly Contestant[],
  rounds: number,
  say: (line: string) => void,
): Promise<Race> {
  const all = new Map<string, Timed[]>(contestants.map(({ name }) => [name, []]));
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
  return Object.fromEntries([...all].map(([name, runs]) => [name, roundsOf(runs)]));
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

function roundsOf(runs: readonly Timed[]): Rounds {
  // A thousandth is beyond what can be measured; the file of results stays readable.
  const each = (figure: (timed: Timed) => number) =>
    runs.map((timed) => Number(figure(timed).toPrecision(4)));
  return {
    rate: each(({ rate }) => rate),
    cpuUs: each(({ cpuUs }) => cpuUs),
    redisCpuUs: each(({ redisCpuUs }) => redisCpuUs),
    serviceCpuUs: each(({ serviceCpuUs }) => serviceCpuUs),
    peakMb: each(({ peakMb }) => peakMb),
  };
}
