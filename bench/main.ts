/**
 * `npm run bench`: what notice-queue costs, beside what its users would write instead, in one run on one machine. What
 * it measures and how is in bench/figures.md.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { machineText } from './harness/machine.ts';
import { race, type Rounds } from './harness/race.ts';
import { openStage, type Stage } from './harness/stage.ts';
import { counts, countTable } from './legs/counts.ts';
import { draining } from './legs/draining.ts';
import { importing } from './legs/importing.ts';
import { latency } from './legs/latency.ts';
import { AXIOS, CHUNK_SENDERS, contestants, SINGLE_SENDERS, UNDICI } from './legs/queues.ts';
import { startup } from './legs/startup.ts';
import { between } from './report/tables.ts';
import { CHUNK_SIZE } from './work.ts';

const USAGE = `npm run bench -- [options]

  (none)          all legs, a quarter of an hour; writes the figures of bench/figures.md
  --quick         the exact counts alone, some twenty seconds; fails where one is out of bounds
  --rounds N      rounds of each race (5)
`;
const PAGE = 'bench/figures.md';
const REFERENCES = [AXIOS, UNDICI];
const SINGLES = { warm: 2_000, all: 22_000 };
const CHUNKS = { warm: 100 * CHUNK_SIZE, all: 1_100 * CHUNK_SIZE };

const say = (line: string) => process.stdout.write(`${line}\n`);

/** The parts of a run with their titles, in their order; each answers a table. */
const LEGS: Readonly<Record<string, (stage: Stage, rounds: Rounds) => Promise<string>>> = {
  Counts: async (stage) => countTable(await counts(stage)),
  'Start-up and memory': (stage, { rounds }) => startup(stage, rounds),
  'Single sends': (stage, rounds) =>
    race(stage, contestants(stage, SINGLE_SENDERS, SINGLES), REFERENCES, rounds),
  'Chunks of 1,000 contacts': async (stage, rounds) => {
    const sink = await stage.withSink(CHUNK_SIZE);
    return race(sink, contestants(sink, CHUNK_SENDERS, CHUNKS), REFERENCES, rounds);
  },
  Import: importing,
  'One notice in an idle system': (stage, { rounds }) => latency(stage, rounds),
  'A notice while a batch is sent': draining,
};

async function quick(stage: Stage): Promise<boolean> {
  const counted = await counts(stage);
  say(countTable(counted));
  const beyond = counted.filter(({ count, atMost }) => count > (atMost ?? Infinity));
  for (const { what, count, atMost } of beyond) {
    say(`${what}: ${count} is more than ${atMost ?? ''}`);
  }
  return beyond.length === 0;
}

async function full(stage: Stage, rounds: Rounds): Promise<void> {
  const sections = [await machineText(stage.redisVersion, rounds.rounds)];
  for (const [title, leg] of Object.entries(LEGS)) {
    say(title);
    sections.push(`### ${title}`, await leg(stage, rounds));
  }
  const figures = sections.join('\n\n');
  say(figures);
  const page = between(await readFile(PAGE, 'utf8'), 'figures', figures);
  const style = await resolveConfig(PAGE);
  await writeFile(PAGE, await format(page, { ...style, filepath: PAGE }));
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '5' },
    },
  });
  const stage = await openStage();
  try {
    if (values.quick) return await quick(stage);
    await full(stage, { rounds: Number(values.rounds), say });
    return true;
  } finally {
    await stage.close();
  }
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
