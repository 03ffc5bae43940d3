import { count, micro, table } from '../report/tables.ts';
import { ratioOf, spreadOf } from './spread.ts';
import type { Stage } from './stage.ts';
import type { Timed } from './timed.ts';

/** Does a piece of work and is timed. */
export interface Contestant {
  readonly name: string;
  readonly run: () => Promise<Timed>;
}

/** How often, and where progress goes. */
export interface Rounds {
  readonly rounds: number;
  readonly say: (line: string) => void;
}

/**
 * Runs contestants in turn, several rounds, each round beginning with another one: what the machine does
 * beside meets all of them.
 *
 * @param references the names of those that all are compared with
 * @returns a table of medians
 */
export async function race(
  stage: Stage,
  contestants: readonly Contestant[],
  references: readonly string[],
  { rounds, say }: Rounds,
): Promise<string> {
  const all = new Map<string, Timed[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contestants.length; turn++) {
      const contestant = contestants[(turn + round) % contestants.length];
      if (contestant === undefined) continue;
      await stage.clear();
      const timed = await contestant.run();
      all.get(contestant.name)?.push(timed);
      say(`  ${contestant.name}: ${count(timed.rate)}/s, ${timed.cpuUs.toFixed(1)} us`);
    }
  }
  const figures = (runs: readonly Timed[] = [], of: keyof Timed) => runs.map((run) => run[of]);
  const compared = (runs: readonly Timed[], reference: string, of: keyof Timed) =>
    ratioOf(figures(runs, of), figures(all.get(reference), of)).median.toFixed(2);
  return table(
    [
      'contestant',
      'a second',
      'spread',
      ...references.map((name) => `rate, CPU against ${name}`),
      'CPU µs',
      'Redis µs',
      'service µs',
    ],
    [...all].map(([name, runs]) => {
      const { median, min, max } = spreadOf(figures(runs, 'rate'));
      const spent = (['cpuUs', 'redisCpuUs', 'serviceCpuUs'] as const).map((of) =>
        micro(spreadOf(figures(runs, of)).median),
      );
      return [
        name,
        count(median),
        `${count(min)} to ${count(max)}`,
        ...references.map(
          (other) => `${compared(runs, other, 'rate')}, ${compared(runs, other, 'cpuUs')}`,
        ),
        ...spent,
      ];
    }),
  );
}
