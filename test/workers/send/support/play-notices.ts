import * as fc from 'fast-check';
import { DELIVERY_POLICIES } from '../../../../src/contracts/outcome.ts';
import { seedOfRun } from '../../../chaos/support/random.ts';
import type { TestRedis } from '../../../support/redis.ts';
import { after, endOf } from './notice-model.ts';
import {
  ANSWERS,
  begin,
  movesOf,
  RULES,
  type Answer,
  type Move,
  type Rules,
  type Troubles,
  type World,
} from './notice-world.ts';
import { NoticeStage } from './notice-stage.ts';

/** What may go wrong with one notice. */
const TROUBLES: Troubles = {
  kills: 1,
  losses: 2,
  refusals: 1,
  repeats: 2,
  returns: 1,
  cancels: 1,
  expiries: 1,
  redrives: 2,
  removals: 1,
};

/** Notices that are played at the same time: most of their time they wait. */
const STAGES = 20;

/** A walk through the model: which of the moves is next, by number. */
const walkOf = (maxLength: number) =>
  fc.record({
    delivery: fc.constantFrom(...DELIVERY_POLICIES),
    delayed: fc.boolean(),
    choices: fc.array(fc.nat(10_000), { minLength: 5, maxLength, size: 'max' }),
  });
type Walk = ReturnType<typeof walkOf> extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** What is played; everything has a default. */
interface PlayOptions {
  /** Of the model. */
  readonly rules?: Rules;
  /** Default: that of this run ({@link seedOfRun}). */
  readonly seed?: number;
  /** Steps of a walk at most, before nothing goes wrong any more. Default: 40 */
  readonly steps?: number;
  readonly troubles?: Troubles;
  /** No walk begins later than so many milliseconds after the first. Default: all are played */
  readonly forMs?: number;
}

/** The moves of a walk; afterwards nothing goes wrong, and the notice ends. */
function movesOfWalk(
  { delivery, delayed, choices }: Walk,
  troubles: Troubles,
  rules: Rules,
): { first: World; moves: Move[] } {
  const first = begin(delivery, delayed, troubles);
  const moves: Move[] = [];
  let world = first;
  for (const choice of choices) {
    const some = movesOf(world, Object.keys(ANSWERS) as Answer[]);
    const move = some[choice % some.length];
    if (move === undefined) break;
    moves.push(move);
    world = after(world, move, rules);
  }
  return { first, moves: [...moves, ...(endOf(world, rules) ?? [])] };
}

/**
 * Plays random walks through the model with the real code, until one differs. The seed is printed.
 * @returns `different`: the first walk in which the real notice differs from the model
 */
export async function playNotices(
  redis: TestRedis,
  walks: number,
  { rules = RULES, seed = seedOfRun(), steps = 40, troubles = TROUBLES, forMs }: PlayOptions = {},
) {
  console.info(`model of a notice: NOTICES_SEED=${seed}`);
  const waiting = fc.sample(walkOf(steps), { numRuns: walks, seed });
  const until = performance.now() + (forMs ?? Infinity);
  const played = { walks: 0, moves: 0 };
  const different: string[] = [];
  const playAll = async () => {
    const stage = new NoticeStage(redis, rules);
    try {
      for (
        let walk = waiting.pop();
        walk !== undefined && performance.now() < until;
        walk = waiting.pop()
      ) {
        const { first, moves } = movesOfWalk(walk, troubles, rules);
        await stage.play(first, moves).catch((error: unknown) => {
          different.push(`${String(error)} in ${JSON.stringify(moves)}`);
          waiting.length = 0;
        });
        played.walks += 1;
        played.moves += moves.length;
      }
    } finally {
      await stage.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(STAGES, walks) }, playAll));
  return { seed, ...played, different: different.slice(0, 1) };
}
