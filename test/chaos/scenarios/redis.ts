import { claimChunk } from '../../../src/batch/ledger/scripts/chunk-scripts.ts';
import { settleChunk } from '../../../src/batch/ledger/scripts/settle-scripts.ts';
import { beginIntent, endIntent } from '../../../src/fleet/intents/intents.ts';
import type { Script } from '../../../src/redis/script.ts';
import type { FaultProxy } from '../../support/fault-proxy.ts';
import type { LinkFault } from '../../support/faulty-link.ts';
import type { LogLine } from '../../support/fleet.ts';
import type { Scenario } from '../support/scenario.ts';
import { shaOf } from '../support/script-sha.ts';
import type { Stage } from '../support/stage.ts';

/** A worker says that Redis failed it. */
const isTrouble = ({ event }: LogLine) => event === 'trouble' || event === 'redis-trouble';

/** Breaks Redis itself, and counts what workers said about it, or 1 where they stood still. */
const server = (breakIt: (stage: Stage) => Promise<void>) => async (stage: Stage) => {
  await stage.fault();
  const before = stage.lines(isTrouble);
  const since = performance.now();
  await breakIt(stage);
  const stood = stage.pulse.speed(since + 1_000, performance.now()) === 0;
  stage.mended();
  return stage.lines(isTrouble) - before + (stood ? 1 : 0);
};

/** Places faults between somebody and Redis, one after the other, each for so long. */
async function onLink(
  stage: Stage,
  proxy: FaultProxy,
  faults: readonly LinkFault[],
  eachMs: number,
): Promise<number> {
  const before = proxy.struck;
  for (const fault of faults) {
    await stage.fault();
    await proxy.place(fault);
    await stage.wait(eachMs);
  }
  await proxy.heal();
  stage.mended();
  return proxy.struck - before;
}

/** The commands around a request, a chunk's first: a notice has them at-most-once only. */
const STEPS: readonly Script<unknown>[] = [claimChunk, settleChunk, beginIntent, endIntent];
/** How many connections are struck within each of the steps. */
const STRUCK = 6;

const workers = (faults: (sha: string) => LinkFault) => async (stage: Stage) => {
  const { redis } = stage.proxies;
  const shas = await Promise.all(STEPS.map(shaOf));
  let struck = 0;
  for (const [index, sha] of shas.entries()) {
    const before = redis.struck;
    await onLink(stage, redis, [faults(sha)], 500);
    const isUsed = index < 2 || stage.load.delivery === 'at-most-once';
    if (isUsed && redis.struck === before) return 0;
    struck += redis.struck - before;
  }
  return struck;
};

const SOME_NOTICES = 1_000;
const GROUP = 250;

/** Hands over more notices, and the rest of the batch, while the producer's connection is broken. */
const producer = (fault: LinkFault) => async (stage: Stage) => {
  const { producer: proxy } = stage.proxies;
  const sending = stage.load.send(SOME_NOTICES, {}, GROUP);
  const struck = await onLink(stage, proxy, [fault, fault], 1_000);
  await sending;
  return struck;
};

/** Accepted jobs are removed at once: an add that is repeated later does not find them. */
const PRODUCER = { producer: true, highWater: 4_000, env: { KEEP_ACCEPTED_MS: '0' } } as const;

/** Redis that dies, freezes, is full, or is cut off. */
export const REDIS_SCENARIOS: readonly Scenario[] = [
  {
    name: 'Redis killed',
    bound: 'redis',
    plan: { seconds: 10 },
    disturb: server(async (stage) => {
      await stage.server.kill('SIGKILL');
      await stage.wait(1_000);
      await stage.server.restart();
    }),
  },
  {
    name: 'Redis frozen',
    bound: 'redis',
    plan: { seconds: 10 },
    disturb: server(async (stage) => {
      await stage.server.kill('SIGSTOP');
      await stage.wait(3_000);
      await stage.server.kill('SIGCONT');
    }),
  },
  {
    name: 'Redis out of memory',
    bound: 'redis',
    plan: { seconds: 10 },
    disturb: server(async (stage) => {
      await stage.client.config('SET', 'maxmemory', '1');
      await stage.wait(2_000);
      await stage.client.config('SET', 'maxmemory', '0');
    }),
  },
  ...[2, 8].map((seconds): Scenario => ({
    name: `Redis refuses writes for ${seconds} s`,
    bound: 'redis',
    plan: { seconds: 10 },
    disturb: server(async (stage) => {
      await stage.client.config('SET', 'min-replicas-to-write', '1');
      await stage.wait(seconds * 1_000);
      await stage.client.config('SET', 'min-replicas-to-write', '0');
    }),
  })),
  {
    name: 'all connections to Redis killed',
    bound: 'redis',
    plan: { seconds: 10 },
    disturb: async (stage) => {
      let killed = 0;
      for (let cut = 0; cut < 10; cut++) {
        await stage.fault();
        const reply: unknown = await stage.client.call(
          'CLIENT',
          'KILL',
          'TYPE',
          'normal',
          'SKIPME',
          'yes',
        );
        killed += Number(reply);
        await stage.wait(100);
      }
      stage.mended();
      return killed;
    },
  },
  {
    name: 'workers cut off within claim and settle',
    bound: 'redis',
    plan: { seconds: 12, redis: 'all' },
    disturb: workers((when) => ({
      kind: 'cut',
      direction: 'up',
      when,
      bytes: 20,
      times: STRUCK,
    })),
  },
  {
    name: 'answers to claim and settle lost',
    bound: 'redis',
    plan: { seconds: 12, redis: 'all' },
    disturb: workers((when) => ({ kind: 'drop-reply', when, times: STRUCK })),
  },
  {
    name: 'a black hole between workers and Redis',
    bound: 'redis',
    plan: { seconds: 12, redis: 'all' },
    disturb: (stage) => onLink(stage, stage.proxies.redis, [{ kind: 'black-hole' }], 2_000),
  },
  {
    name: 'silent connections to Redis',
    bound: 'silence',
    plan: { seconds: 12, redis: 'all' },
    disturb: (stage) =>
      onLink(stage, stage.proxies.redis, [{ kind: 'stale', by: 'silence' }], 1_000),
  },
  {
    name: 'latency between workers and Redis',
    bound: 'redis',
    plan: { seconds: 10, redis: 'all' },
    disturb: (stage) =>
      onLink(
        stage,
        stage.proxies.redis,
        [50, 200].map((ms) => ({ kind: 'delay', ms })),
        1_000,
      ),
  },
  {
    name: 'a producer cut off within addBulk',
    bound: 'redis',
    plan: PRODUCER,
    disturb: producer({ kind: 'cut', direction: 'up', bytes: 9_000, times: 8 }),
  },
  {
    name: 'answers to a producer lost',
    bound: 'redis',
    plan: PRODUCER,
    disturb: producer({ kind: 'drop-reply', times: 8 }),
  },
];
