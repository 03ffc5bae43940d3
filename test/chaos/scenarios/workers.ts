import { until } from '../../support/wait.ts';
import type { Scenario } from '../support/scenario.ts';
import { LOCK_MS, STALLED_MS } from '../support/settings.ts';
import type { Stage } from '../support/stage.ts';

const PRELOADS = new URL('../preload/', import.meta.url);
/** Beyond the time in which others have taken over all that it held. */
const BLOCKED_MS = LOCK_MS + 4 * STALLED_MS;
/** To and from Redis each: where most of a worker's time goes then. */
const REDIS_DELAY_MS = 250;

/**
 * Freezes the first worker while what it held is between its claim and its request: its commands
 * reach Redis, whose answers come when it is frozen. Others take all of it over; then it goes on.
 *
 * @param freeze resolves when it goes on
 * @returns attempts that it gave up because it had lost their locks
 */
async function freezeFirst(
  stage: Stage,
  freeze: (takenOver: Promise<unknown>) => Promise<void>,
): Promise<number> {
  const [zombie] = stage.fleet.workers;
  if (zombie === undefined) throw new Error('no worker');
  await stage.proxies.redis.place({ kind: 'delay', ms: REDIS_DELAY_MS });
  await stage.wait(5 * REDIS_DELAY_MS);
  await stage.fault();
  const returned = () => zombie.lines.filter(({ outcome }) => outcome === 'returned').length;
  const before = returned();
  const { contacts, done } = await stage.held();
  await freeze(done);
  stage.goesOn(contacts);
  stage.mended();
  await stage.proxies.redis.heal();
  await until(() => returned() > before, {
    what: 'the worker to give up what it held',
    deadlineMs: 20_000,
  });
  return returned() - before;
}

const ZOMBIE = {
  seconds: 16,
  redis: 'first',
  emulator: { keepDetails: 1_000_000 },
} as const;

/** Workers that die, stand still or are replaced. */
export const WORKER_SCENARIOS: readonly Scenario[] = [
  {
    name: 'workers killed in turn',
    breaks: 'SIGKILL of a worker, another one started, three times',
    bound: 'worker',
    disturb: async (stage) => {
      let struck = 0;
      for (const worker of stage.live()) {
        await stage.fault();
        stage.fell(worker, 'SIGKILL');
        const { contacts } = await stage.held();
        struck += contacts.size;
        stage.replace();
        stage.mended();
        await stage.wait(1_200);
      }
      return struck;
    },
  },
  {
    name: 'all workers killed',
    breaks: 'SIGKILL of all workers at once, others started',
    bound: 'worker',
    plan: { seconds: 10 },
    disturb: async (stage) => {
      await stage.fault();
      for (const worker of stage.live()) stage.fell(worker, 'SIGKILL');
      const { contacts } = await stage.held();
      for (let count = 0; count < 3; count++) stage.replace();
      stage.mended();
      return contacts.size;
    },
  },
  {
    name: 'a worker frozen past its locks',
    breaks: 'SIGSTOP between claim and request, SIGCONT when others have all it held',
    bound: 'worker',
    plan: { ...ZOMBIE, firstEnv: { LOG_LEVEL: 'debug' } },
    disturb: (stage) =>
      freezeFirst(stage, async (takenOver) => {
        const [zombie] = stage.fleet.workers;
        zombie?.kill('SIGSTOP');
        await takenOver;
        zombie?.kill('SIGCONT');
      }),
  },
  {
    name: 'an event loop blocked past its locks',
    breaks: `a worker that does one thing for ${BLOCKED_MS / 1_000} s between claim and request`,
    bound: 'worker',
    plan: {
      ...ZOMBIE,
      firstEnv: {
        LOG_LEVEL: 'debug',
        NODE_OPTIONS: `--import=${new URL('blocking-loop.mjs', PRELOADS).href}`,
        BLOCK_MS: String(BLOCKED_MS),
      },
    },
    disturb: (stage) =>
      freezeFirst(stage, async (takenOver) => {
        const [zombie] = stage.fleet.workers;
        zombie?.kill('SIGUSR2');
        await takenOver;
        const isOver = () => zombie?.lines.some(({ event }) => event === 'unblocked');
        if (isOver() === true) throw new Error('it went on before others had all it held');
        await until(isOver, { what: 'the worker to go on', deadlineMs: 2 * BLOCKED_MS });
      }),
  },
  {
    name: 'all workers restarted in turn, twice',
    breaks: 'SIGTERM of each worker, its successor running first, twice',
    bound: 'hold',
    harmless: true,
    plan: { seconds: 14 },
    disturb: async (stage) => {
      let ended = 0;
      for (let round = 0; round < 2; round++) {
        for (const worker of stage.live()) {
          await stage.fault();
          await stage.start();
          stage.fell(worker, 'SIGTERM');
          if ((await worker.ended) !== 0) throw new Error('a worker did not stop in order');
          ended += 1;
        }
      }
      stage.mended();
      return ended;
    },
  },
];
