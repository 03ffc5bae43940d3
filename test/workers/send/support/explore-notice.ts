import type { DeliveryPolicy } from '../../../../src/contracts/outcome.ts';
import { randomFrom } from '../../../chaos/support/random.ts';
import { after, endOf } from './notice-model.ts';
import {
  begin,
  movesOf,
  NO_TROUBLES,
  viewOf,
  type Answer,
  type Law,
  type Move,
  type Rules,
  type Troubles,
  type World,
} from './notice-world.ts';

/** What may happen, beside the moves of two workers, in any order. */
export interface Scenario {
  readonly delivery: DeliveryPolicy;
  readonly answers: readonly Answer[];
  readonly troubles: Partial<Troubles>;
}

/** Every order of the moves. @param until ends it at the first law that is broken */
export function explore({ delivery, answers, troubles }: Scenario, rules: Rules, until?: Law) {
  const seen = new Set<string>();
  const broken = new Set<Law>();
  /** States in which it has ended. */
  const ends = new Set<string>();
  const edge: World[] = [begin(delivery, false, { ...NO_TROUBLES, ...troubles })];
  for (let world = edge.pop(); world !== undefined; world = edge.pop()) {
    const key = JSON.stringify(world);
    if (seen.has(key)) continue;
    seen.add(key);
    for (const law of world.broken) broken.add(law);
    if (endOf(world, rules) === undefined) broken.add('stuck');
    if (until !== undefined && broken.has(until)) break;
    if (world.place === 'completed' || world.ended !== undefined) ends.add(viewOf(world).state);
    for (const move of movesOf(world, answers)) edge.push(after(world, move, rules));
  }
  return { states: seen.size, broken, ends };
}

/**
 * Walks at random, where so much may happen that not every order can be tried.
 *
 * @param steps of a walk at most
 * @param walks how many
 * @returns the first walk that broke laws, and which
 */
export function wander(
  { delivery, answers, troubles }: Scenario,
  { walks, steps, seed }: Readonly<Record<'walks' | 'steps' | 'seed', number>>,
  rules: Rules,
): { readonly moves: number; readonly broken: readonly string[] } {
  const random = randomFrom(seed);
  let moves = 0;
  for (let walk = 0; walk < walks; walk++) {
    let world: World = begin(delivery, random() < 0.5, { ...NO_TROUBLES, ...troubles });
    const path: Move[] = [];
    while (path.length < steps && world.broken.length === 0) {
      const some = movesOf(world, answers);
      const move = some[Math.floor(random() * some.length)];
      if (move === undefined) break;
      path.push(move);
      world = after(world, move, rules);
    }
    moves += path.length;
    const broken = endOf(world, rules) === undefined ? [...world.broken, 'stuck'] : world.broken;
    if (broken.length > 0)
      return { moves, broken: [`${broken.join()} in ${JSON.stringify(path)}`] };
  }
  return { moves, broken: [] };
}
