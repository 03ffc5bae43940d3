import { expect, it } from 'vitest';
import { setTimeout as pause } from 'node:timers/promises';
import type { FleetWorker } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { play, toPlay } from './support/scenario.ts';
import { AFTER_KILL, CHUNK_SLOTS, TAKEN_OVER_MS } from './support/settings.ts';
import type { Stage } from './support/stage.ts';

const PRELOADS = new URL('./preload/', import.meta.url);
/** Beyond the time in which others have taken over all that it held. */
const BLOCKED_MS = TAKEN_OVER_MS + 2_000;
/** To and from Redis each: where most of a worker's time goes then. */
const REDIS_DELAY_MS = 250;

/** So long the frozen one hears nothing of Redis after it goes on. */
const UNTOLD_MS = 1_000;

/** So many chunks of each policy must stand between claim and request when the worker is stopped. */
const BETWEEN = 3;
/** So many of them it must give up: one may be sent in the moment until it stands still. */
const GIVEN_UP = 2;

/**
 * Freezes the first worker when it has claimed chunks and not sent them: its commands reach Redis, whose
 * answers come when it is frozen. Others take all of it over; then it goes on.
 *
 * @param goOn resolves when it goes on
 * @returns attempts at chunks of each policy, at the least, that it gave up because it had lost their locks
 */
async function freezeFirst(
  stage: Stage,
  stop: (zombie: FleetWorker) => void,
  goOn: (zombie: FleetWorker) => Promise<void>,
): Promise<number> {
  const [zombie] = stage.fleet.workers;
  if (zombie === undefined) throw new Error('no worker');
  const given = () => zombie.lines.filter(({ outcome }) => outcome === 'returned');
  const returned = () =>
    stage.loads.map(({ delivery }) => given().filter(({ batch }) => batch === delivery).length);
  await stage.proxies.redis.place({ kind: 'delay', ms: REDIS_DELAY_MS });
  await stage.fault();
  await until(async () => (await stage.claimedUnsent(zombie.pid)) >= BETWEEN, {
    what: 'chunks between claim and request',
    deadlineMs: 20_000,
    everyMs: 5,
  });
  stop(zombie);
  const before = returned();
  const givenUp = () => Math.min(...returned().map((count, at) => count - (before[at] ?? 0)));
  const { contacts, done } = await stage.held();
  await done;
  stage.goesOn(contacts);
  await goOn(zombie);
  stage.mended();
  await stage.proxies.redis.heal();
  // What it sends all the same is for the laws to see.
  await until(() => givenUp() >= GIVEN_UP || stage.late > 0, {
    what: 'the worker to give up what it held',
    deadlineMs: 20_000,
  });
  return givenUp();
}

const ZOMBIE = {
  seconds: 16,
  redis: 'first',
  emulator: { keepDetails: 1_000_000 },
} as const;

/** It has room for as many chunks of each policy as one alone would have. */
const ZOMBIE_ENV = { LOG_LEVEL: 'debug', BATCH_CONCURRENCY: String(2 * CHUNK_SLOTS) };

/** Workers that die, stand still or are replaced. */
it.each(
  toPlay([
    {
      name: 'workers killed in turn',
      inShort: true,
      boundMs: AFTER_KILL,
      disturb: async (stage) => {
        let struck = 0;
        for (const worker of stage.live()) {
          await stage.fault();
          stage.fell(worker, 'SIGKILL');
          const { contacts } = await stage.held();
          struck += contacts.size;
          stage.replace();
          stage.mended();
          await pause(1_200);
        }
        return struck;
      },
    },
    {
      name: 'all workers killed',
      boundMs: AFTER_KILL,
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
      inShort: true,
      boundMs: AFTER_KILL,
      plan: { ...ZOMBIE, firstEnv: ZOMBIE_ENV },
      disturb: (stage) =>
        freezeFirst(
          stage,
          (zombie) => zombie.kill('SIGSTOP'),
          async (zombie) => {
            // Until Redis answers, nothing but the time tells it that its locks are lost.
            await stage.proxies.redis.place({ kind: 'black-hole' });
            zombie.kill('SIGCONT');
            await pause(UNTOLD_MS);
          },
        ),
    },
    {
      name: 'an event loop blocked past its locks',
      boundMs: AFTER_KILL,
      plan: {
        ...ZOMBIE,
        firstEnv: {
          ...ZOMBIE_ENV,
          NODE_OPTIONS: `--import=${new URL('blocking-loop.mjs', PRELOADS).href}`,
          BLOCK_MS: String(BLOCKED_MS),
        },
      },
      disturb: (stage) =>
        freezeFirst(
          stage,
          (zombie) => zombie.kill('SIGUSR2'),
          async ({ lines }) => {
            const goesOn = () => lines.some(({ event }) => event === 'unblocked');
            if (goesOn()) throw new Error('it went on before others had all it held');
            await until(goesOn, { what: 'the worker to go on', deadlineMs: 2 * BLOCKED_MS });
          },
        ),
    },
    {
      name: 'all workers restarted in turn, twice',
      harmless: true,
      plan: { seconds: 30 },
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
        return ended;
      },
    },
    {
      name: 'all workers stopped at once, by two signals each',
      harmless: true,
      plan: { processes: 2, seconds: 24 },
      disturb: async (stage) => {
        let struck = 0;
        for (const signal of ['SIGINT', 'SIGTERM'] as const) {
          const group = stage.live();
          await Promise.all(group.map(() => stage.start()));
          await stage.fault();
          await until(async () => (await stage.activeJobs()).length > 2 * CHUNK_SLOTS, {
            what: 'sends under way',
            deadlineMs: 20_000,
            everyMs: 5,
          });
          for (const worker of group) stage.fell(worker, signal);
          // As in a process group, whose parent hands its own signal on.
          for (const worker of group) worker.kill('SIGTERM');
          const codes = await Promise.all(group.map(({ ended }) => ended));
          if (codes.some((code) => code !== 0)) throw new Error('a worker did not stop in order');
          struck += group.length;
        }
        return struck;
      },
    },
  ]),
)('%s', async (_name, scenario) => {
  expect(await play(scenario)).toEqual([]);
});
