import { parseArgs } from 'node:util';

/** The parts of a run, in their order. */
export const LEGS = [
  'counts',
  'startup',
  'singles',
  'chunks',
  'clients',
  'importing',
  'latency',
  'draining',
  'growth',
  'pages',
  'processes',
  'sharing',
  'soak',
] as const;

/** Name of a part. */
export type Leg = (typeof LEGS)[number];

/** What a run was asked for. */
export interface BenchOptions {
  /** The exact counts alone; fails where one is beyond its bound. */
  readonly quick: boolean;
  readonly legs: ReadonlySet<Leg>;
  readonly rounds: number;
  /** How many jobs wait in the leg `growth`. */
  readonly sizes: readonly number[];
  /** Whether the run writes its results; a part of a run does not. */
  readonly writes: boolean;
}

export const USAGE = `npm run bench -- [options]

  (none)          all legs but the soak, half an hour; writes bench/results.json, the figures of
                  bench/figures.md, and the tables of docs/scaling.md
  --full          with a million jobs that wait, and a million delayed ones: some minutes more
  --soak          with ten minutes of steady load
  --quick         the exact counts alone, some twenty seconds; fails where one is out of bounds
  --rounds N      rounds of each leg (5)
  --only A,B      these legs alone, and nothing is written: ${LEGS.join(', ')}
`;

/** @throws RangeError for what is not known */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      soak: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '5' },
      only: { type: 'string' },
    },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 20) {
    throw new RangeError('--rounds: expected a whole number from 1 to 20');
  }
  const only = values.only?.split(',').map((name) => {
    const leg = LEGS.find((known) => known === name);
    if (leg === undefined) throw new RangeError(`--only: expected some of ${LEGS.join(', ')}`);
    return leg;
  });
  const usual = LEGS.filter((leg) => leg !== 'soak' || values.soak);
  return {
    quick: values.quick,
    legs: new Set(values.quick ? (['counts'] as const) : (only ?? usual)),
    rounds,
    sizes: values.full ? [1_000, 100_000, 1_000_000] : [1_000, 100_000],
    writes: !values.quick && only === undefined,
  };
}
