import { describe, expect, it } from 'vitest';
import { DELIVERY_POLICIES } from '../../../src/contracts/outcome.ts';
import { seedOfRun } from '../../chaos/support/random.ts';
import { testRedis } from '../../support/redis.ts';
import { wander } from './support/explore-notice.ts';
import { ANSWERS, RULES, type Answer, type Troubles } from './support/notice-world.ts';
import { playNotices } from './support/play-notices.ts';

const redis = testRedis();

/** More than every order can be tried of, and more often than in the short walks. */
const TROUBLES: Troubles = {
  kills: 2,
  losses: 4,
  refusals: 3,
  repeats: 4,
  returns: 6,
  cancels: 2,
  expiries: 1,
  redrives: 5,
  removals: 1,
};
const answers = Object.keys(ANSWERS) as Answer[];
const STEPS = 120;
const SEED = seedOfRun();

describe('a single notice, much of which goes wrong', () => {
  it.each(DELIVERY_POLICIES)(
    'keeps the laws of its model in long random walks, %s',
    (delivery) => {
      console.info(`long walks: NOTICES_SEED=${SEED}`);
      const one = { delivery, answers, troubles: TROUBLES };
      const { broken, moves } = wander(one, { walks: 50_000, steps: STEPS, seed: SEED }, RULES);
      expect(broken, `NOTICES_SEED=${SEED}`).toEqual([]);
      expect(moves).toBeGreaterThan(500_000);
    },
    60_000,
  );

  it('does what its model does in long random walks, for 40 seconds', async () => {
    const { seed, walks, moves, different } = await playNotices(redis, 3_000, {
      steps: STEPS,
      troubles: TROUBLES,
      forMs: 40_000,
    });
    expect(different, `NOTICES_SEED=${seed}`).toEqual([]);
    expect(walks).toBeGreaterThan(60);
    expect(moves).toBeGreaterThan(1_500);
  }, 120_000);
});
