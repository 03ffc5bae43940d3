import * as fc from 'fast-check';
import { DELIVERY_POLICIES } from '../../../../src/contracts/delivery.ts';
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
const WALK = fc.record({
  delivery: fc.constantFrom(...DELIVERY_POLICIES),
  delayed: fc.boolean(),
  choices: fc.array(fc.nat(10_000), { minLength: 5, maxLength: 40, size: 'max' }),
});
type Walk = typeof WALK extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** The moves of a walk; afterwards nothing goes wrong, and the notice ends. */
function movesOfWalk(
  { delivery, delayed, choices }: Walk,
  rules: Rules,
): { first: World; moves: Move[] } {
  const first = begin(delivery, delayed, TROUBLES);
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

/** What was played. */
interface Played {
  readonly seed: number;
  readonly moves: number;
  /** The first walk in which the real notice differs from the model. */
  readonly different: readonly string[];
}

/** The seed of a run; NOTICES_SEED repeats one. */
const drawnSeed = () => Number(process.env['NOTICES_SEED'] ?? Date.now() % 1_000_000);

/**
 * Plays random walks through the model with the real code, until one differs. The seed is printed.
 *
 * @param rules of the model
 */
export async function playNotices(
  redis: TestRedis,
  walks: number,
  rules: Rules = RULES,
  seed = drawnSeed(),
): Promise<Played> {
  console.info(`model of a notice: NOTICES_SEED=${seed}`);
  const waiting = fc.sample(WALK, { numRuns: walks, seed }).map((walk) => movesOfWalk(walk, rules));
  const moves = waiting.reduce((sum, walk) => sum + walk.moves.length, 0);
  const different: string[] = [];
  const playAll = async () => {
    const stage = new NoticeStage(redis, rules);
    try {
      for (let walk = waiting.pop(); walk !== undefined; walk = waiting.pop()) {
        await stage.play(walk.first, walk.moves).catch((error: unknown) => {
          different.push(`${String(error)} in ${JSON.stringify(walk.moves)}`);
          waiting.length = 0;
        });
      }
    } finally {
      await stage.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(STAGES, walks) }, playAll));
  return { seed, moves, different: different.slice(0, 1) };
}
