import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { conclude } from './support/laws.ts';
import { randomFrom, seedOfRun, shuffled } from './support/random.ts';
import { IS_SHORT } from './support/scenario.ts';
import { Stage } from './support/stage.ts';
import { LASTS_MS, STORM_FAULTS, type StormFault } from './support/storm-faults.ts';

const SEED = seedOfRun();
const CONTACTS = IS_SHORT ? 5_000 : 40_000;
const EVERY_MS = 2_000;
/** A storm with fewer faults is none. */
const LEAST_FAULTS = CONTACTS / 2_500;
/**
 * After so many, in the long form each kind twice, the rest is sent undisturbed: on a slow machine the fleet is not back
 * before the next fault, and the storm would end at no time that can be stated.
 */
const MOST_FAULTS = IS_SHORT ? 40 : 2 * STORM_FAULTS.length;
/** The longest fault, an outage. */
const FAULT_MS = 5_000;
/** The start, all contacts at a third of the undisturbed speed, and the end of the last jobs. */
const REST_MS = 345_000;

/** A fault every two seconds, drawn at random; NOTICES_SEED repeats a run. */
it(
  'a storm',
  async () => {
    console.log(`seed ${SEED}: NOTICES_SEED=${SEED} repeats this storm`);
    const random = randomFrom(SEED);
    const stage = await Stage.open({
      contacts: CONTACTS,
      highWater: CONTACTS / 5,
      redis: 'all',
      service: 'all',
      producer: true,
      // Accepted jobs are removed at once: an add that is repeated later does not find them.
      env: { KEEP_ACCEPTED_MS: '0' },
    });
    try {
      await stage.steady();
      const deck: StormFault[] = [];
      const drawn: string[] = [];
      let struck = 0;
      for (;;) {
        const next = pause(EVERY_MS);
        if (drawn.length === MOST_FAULTS || !(await stage.faultUnlessOver())) break;
        // All of them, before one comes again.
        if (deck.length === 0) deck.push(...shuffled(STORM_FAULTS, random));
        const [name, strike, ms = LASTS_MS] = deck.pop() as StormFault;
        const strikes = await strike(stage, ms, random);
        drawn.push(`${name} (${strikes})`);
        struck += strikes;
        await next;
      }
      const verdicts = await stage.verdict(struck);
      expect(drawn.length).toBeGreaterThanOrEqual(LEAST_FAULTS);
      console.log(`seed ${SEED}: ${drawn.join(', ')}`);
      expect(conclude('a storm', verdicts, {}, `Seed ${SEED}.`)).toEqual([]);
    } catch (error) {
      throw new Error(`seed ${SEED} repeats it`, { cause: error });
    } finally {
      await stage.close();
    }
  },
  MOST_FAULTS * FAULT_MS + REST_MS,
);
