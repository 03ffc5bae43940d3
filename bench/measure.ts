import { describeMachine } from './harness/machine.ts';
import { contestants, race } from './harness/race.ts';
import { quantile } from './harness/spread.ts';
import type { Stage } from './harness/stage.ts';
import { CHUNK_SENDERS, chunkTotals } from './legs/chunks.ts';
import { counts } from './legs/counts.ts';
import { draining } from './legs/draining.ts';
import { growth } from './legs/growth.ts';
import { CLIENTS, clientTotals } from './legs/http-client.ts';
import { readList, writeList } from './legs/importing.ts';
import { latencies, PATHS } from './legs/latency.ts';
import { pageTimes } from './legs/pages.ts';
import { withProcesses } from './legs/processes.ts';
import { NAMES, SENDERS, singleTotals } from './legs/single-sends.ts';
import { sharing } from './legs/sharing.ts';
import { soak } from './legs/soak.ts';
import { startup } from './legs/startup.ts';
import type { BenchOptions, Leg } from './options.ts';
import type { Latency, Results } from './results.ts';
import { CHUNK_SIZE } from './work.ts';

const SINGLES = 20_000;
const MILLION = 1_000_000;
const REQUESTS = 30_000;
const LATENCIES = 200;
const SOAK_SECONDS = 600;
/** A round takes four minutes, and what it measures, CPU and bytes of 20,000 sends each, varies little. */
const SHARING_ROUNDS = 1;

/** What a leg adds to the results. */
type Found = Partial<Results>;

/** Runs the legs that were asked for, one after the other. */
export async function measure(
  stage: Stage,
  { legs, rounds, sizes }: BenchOptions,
  say: (line: string) => void,
): Promise<Results> {
  const runs: Readonly<Record<Leg, () => Promise<Found>>> = {
    counts: async () => ({ counts: await counts(stage) }),
    startup: async () => ({ startup: await startup(stage, rounds) }),
    singles: async () => ({
      singles: await race(stage, contestants(stage, SENDERS, singleTotals(SINGLES)), rounds, say),
    }),
    chunks: () => chunkRaces(stage, rounds, say),
    clients: async () => {
      const sink = await stage.withSink(1);
      const racers = contestants(sink, CLIENTS, clientTotals(REQUESTS));
      return { clients: await race(sink, racers, rounds, say) };
    },
    importing: () => importRace(stage, rounds, say),
    latency: async () => ({ latency: await latencyRounds(stage, rounds) }),
    draining: async () => {
      await stage.clear();
      return { draining: await draining(stage, MILLION) };
    },
    growth: async () => {
      await stage.clear();
      const waiting = await growth(stage, 'waiting', sizes);
      await stage.clear();
      return { growth: [...waiting, ...(await growth(stage, 'delayed', sizes))] };
    },
    pages: async () => {
      await stage.clear();
      return { pages: await pageTimes(stage, sizes) };
    },
    processes: async () => ({ processes: await processRounds(stage, rounds) }),
    sharing: async () => {
      const fleets = await sharing(await stage.withSink(1), SHARING_ROUNDS, say);
      return { sharing: fleets };
    },
    soak: async () => {
      await stage.clear();
      return { soak: await soak(stage, SOAK_SECONDS) };
    },
  };
  const machine = await describeMachine(stage.redisVersion);
  const results: Results = { machine, rounds };
  for (const leg of legs) {
    say(leg);
    Object.assign(results, await runs[leg]());
  }
  return results;
}

async function chunkRaces(
  stage: Stage,
  rounds: number,
  say: (line: string) => void,
): Promise<Found> {
  const totals = chunkTotals(MILLION);
  const sink = await stage.withSink(CHUNK_SIZE);
  const chunks = await race(sink, contestants(sink, CHUNK_SENDERS, totals), rounds, say);
  say('chunks, with the emulator');
  const slower = CHUNK_SENDERS.filter(({ name }) => name !== NAMES.fastLoop);
  const chunksEmulated = await race(stage, contestants(stage, slower, totals), rounds, say);
  return { chunks, chunksEmulated };
}

async function importRace(
  stage: Stage,
  rounds: number,
  say: (line: string) => void,
): Promise<Found> {
  const file = await writeList(stage, MILLION);
  const importing = await race(
    stage,
    [
      { name: NAMES.csvParse, run: () => readList(stage, 'csv-parse', file) },
      { name: NAMES.importer, run: () => readList(stage, 'import', file) },
    ],
    rounds,
    say,
  );
  const four = await writeList(stage, 4 * MILLION);
  await stage.clear();
  const { peakMb: fourMillion } = await readList(stage, 'import', four);
  const million = Math.max(...(importing[NAMES.importer]?.peakMb ?? []));
  return { importing, importPeakMb: { million, fourMillion } };
}

async function latencyRounds(stage: Stage, rounds: number): Promise<Record<string, Latency>> {
  const all = new Map(
    PATHS.map(({ name }) => [name, { p50Ms: [] as number[], p99Ms: [] as number[] }]),
  );
  for (let round = 0; round < rounds; round++) {
    for (const path of PATHS) {
      await stage.clear();
      const found = await latencies(stage, path, LATENCIES);
      all.get(path.name)?.p50Ms.push(quantile(found, 0.5));
      all.get(path.name)?.p99Ms.push(quantile(found, 0.99));
    }
  }
  return Object.fromEntries(all);
}

async function processRounds(stage: Stage, rounds: number): Promise<Record<string, number[]>> {
  const one: number[] = [];
  const two: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await stage.clear();
    one.push(Math.round(await withProcesses(stage, 1, SINGLES)));
    await stage.clear();
    two.push(Math.round(await withProcesses(stage, 2, SINGLES)));
  }
  return { 1: one, 2: two };
}
