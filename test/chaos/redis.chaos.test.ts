import { expect, it } from 'vitest';
import { setTimeout as pause } from 'node:timers/promises';
import { claimChunk, settleChunk } from '../../src/batch/ledger/scripts/chunk-scripts.ts';
import { beginIntent, endIntent } from '../../src/fleet/job-history.ts';
import type { Script } from '../../src/redis/script.ts';
import type { LinkFault } from '../support/faulty-link.ts';
import type { LogLine } from '../support/fleet.ts';
import {
  clientKill,
  link,
  NO_WRITES,
  OUT_OF_MEMORY,
  redis,
  type Strike,
} from './support/faults.ts';
import { play, toPlay, type Scenario } from './support/scenario.ts';
import { shaOf } from './support/script-sha.ts';
import { AFTER_REDIS, AFTER_SILENCE, type Plan } from './support/settings.ts';
import type { Stage } from './support/stage.ts';

/** A worker says that Redis failed it. */
const isTrouble = ({ event }: LogLine) => event === 'trouble' || event === 'redis-trouble';

const broken = (
  name: string,
  plan: Partial<Plan>,
  disturb: Scenario['disturb'],
  boundMs = AFTER_REDIS,
): Scenario => ({ name, boundMs, plan, disturb });

/** Breaks Redis itself, and counts what workers said about it, or 1 where they stood still. */
const server = (name: string, strike: Strike, ms: number) =>
  broken(name, { seconds: 10 }, async (stage) => {
    await stage.fault();
    const before = stage.lines(isTrouble);
    const since = performance.now();
    await strike(stage, ms, Math.random);
    const stood = stage.pulse.speed(since + 1_000, performance.now()) === 0;
    stage.mended();
    return stage.lines(isTrouble) - before + (stood ? 1 : 0);
  });

/** Places faults between somebody and Redis, one after the other, each for so long. */
async function onLink(
  stage: Stage,
  which: 'redis' | 'producer',
  faults: readonly LinkFault[],
  eachMs: number,
): Promise<number> {
  let struck = 0;
  for (const fault of faults) {
    await stage.fault();
    struck += await link(which, fault)(stage, eachMs, Math.random);
  }
  stage.mended();
  return struck;
}

const ofWorkers = (
  name: string,
  faults: readonly LinkFault[],
  eachMs: number,
  boundMs = AFTER_REDIS,
) =>
  broken(
    name,
    { seconds: 12, redis: 'all' },
    (stage) => onLink(stage, 'redis', faults, eachMs),
    boundMs,
  );

/** The commands around a request: of a chunk, and of an at-most-once notice. */
const STEPS: readonly Script<unknown>[] = [claimChunk, settleChunk, beginIntent, endIntent];
/** How many connections are struck within each of the steps: of each policy about six. */
const STRUCK = 12;

const withinSteps = (name: string, faults: (sha: string) => LinkFault) =>
  broken(name, { seconds: 12, redis: 'all' }, async (stage) => {
    const shas = await Promise.all(STEPS.map(shaOf));
    let all = 0;
    for (const sha of shas) {
      const struck = await onLink(stage, 'redis', [faults(sha)], 500);
      if (struck === 0) return 0;
      all += struck;
    }
    return all;
  });

/** Accepted jobs are removed at once: an add that is repeated later does not find them. */
const PRODUCER = { producer: true, highWater: 4_000, env: { KEEP_ACCEPTED_MS: '0' } } as const;
const SOME_NOTICES = 1_000;
const GROUP = 250;

/** Hands over more notices, and the rest of the batch, while the producer's connection is broken. */
const ofProducer = (name: string, fault: LinkFault) =>
  broken(name, PRODUCER, async (stage) => {
    const sending = stage.loads.map((load) => load.send(stage.amount(SOME_NOTICES), GROUP));
    const struck = await onLink(stage, 'producer', [fault, fault], 1_000);
    await Promise.all(sending);
    return struck;
  });

/** Redis that dies, freezes, is full, or is cut off. */
it.each(
  toPlay([
    { ...server('Redis killed', redis('SIGKILL'), 1_000), inShort: true },
    server('Redis frozen', redis('SIGSTOP'), 3_000),
    server('Redis out of memory', OUT_OF_MEMORY, 2_000),
    server('Redis refuses writes for 2 s', NO_WRITES, 2_000),
    server('Redis refuses writes for 8 s', NO_WRITES, 8_000),
    broken('all connections to Redis killed', { seconds: 10 }, async (stage) => {
      let killed = 0;
      for (let cut = 0; cut < 10; cut++) {
        await stage.fault();
        killed += await clientKill(stage, 0, Math.random);
        await pause(100);
      }
      stage.mended();
      return killed;
    }),
    withinSteps('workers cut off within claim and settle', (when) => ({
      kind: 'cut',
      direction: 'up',
      when,
      bytes: 20,
      times: STRUCK,
    })),
    {
      ...withinSteps('answers to claim and settle lost', (when) => ({
        kind: 'drop-reply',
        when,
        times: STRUCK,
      })),
      inShort: true,
    },
    ofWorkers('a black hole between workers and Redis', [{ kind: 'black-hole' }], 2_000),
    ofWorkers(
      'silent connections to Redis',
      [{ kind: 'stale', by: 'silence' }],
      1_000,
      AFTER_SILENCE,
    ),
    ofWorkers(
      'latency between workers and Redis',
      [50, 200].map((ms) => ({ kind: 'delay', ms })),
      1_000,
    ),
    ofProducer('a producer cut off within addBulk', {
      kind: 'cut',
      direction: 'up',
      bytes: 9_000,
      times: 16,
    }),
    ofProducer('answers to a producer lost', { kind: 'drop-reply', times: 16 }),
  ]),
)('%s', async (_name, scenario) => {
  expect(await play(scenario)).toEqual([]);
});
