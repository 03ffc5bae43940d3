import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { DELIVERY_POLICIES } from '../../src/contracts/outcome.ts';
import { liftManualHold, readHold } from '../../src/fleet/hold/holds.ts';
import { IS_SHORT } from './scenarios/all.ts';
import { conclude } from './support/laws.ts';
import { Load } from './support/load.ts';
import { startCuttableSet } from './support/sentinel-set.ts';
import { AFTER_REDIS, CHUNK, CHUNK_SLOTS, NOTICE_SLOTS, PLAN } from './support/settings.ts';
import { KEYS, Stage } from './support/stage.ts';

const CONTACTS = 18_000;
const NOTICES = 400;
/** Handed over while nothing is replicated. */
const LATE = 60;
const IN_FLIGHT = PLAN.processes * (CHUNK_SLOTS * CHUNK + NOTICE_SLOTS);

/**
 * The master dies, and a replica that is behind takes its place: what was done meanwhile is done
 * again, for nobody remembers it. No queue in Redis can know better; how much it is, is counted.
 */
describe.skipIf(IS_SHORT).each(DELIVERY_POLICIES)('%s', (delivery) => {
  it.each([
    ['a failover to a replica in sync', 0],
    ['a failover to a stale replica', 3_000],
  ])('%s', async (name, behindMs) => {
    const sentinels = await startCuttableSet();
    const stage = await Stage.open(delivery, {
      sentinels,
      contacts: CONTACTS,
      noticesAtFirst: NOTICES,
      // A receipt of the old master says nothing of the new one.
      noticesPerSecond: 0,
    }).catch(async (error: unknown) => {
      await sentinels.close();
      throw error;
    });
    const { client, fleet, load } = stage;
    const { emulator } = fleet;
    try {
      await load.handedOver;
      await stage.steady();
      await stage.fault();
      const before = emulator.record().contacts;
      await sentinels.replicated();
      const late = new Load(fleet.queue, delivery, CONTACTS + NOTICES);
      if (behindMs > 0) {
        await sentinels.cutReplication();
        await late.send(LATE);
        await pause(behindMs);
      }
      await sentinels.killMaster();
      // How soon a Sentinel promotes is its own matter.
      stage.mended();
      const takenMeanwhile = emulator.record().contacts - before;
      // The answers that were under way, and all that was taken since the cut, where there was one.
      const forgotten = IN_FLIGHT + (behindMs > 0 ? takenMeanwhile : 0);
      let lifts = 0;
      // A worker that remembers nothing of what is missing may send before another one has reported it.
      const liftOnce = async () => {
        if ((await readHold(client, KEYS))?.kind !== 'restored') return;
        await liftManualHold(client, KEYS);
        lifts += 1;
      };
      const strikes = behindMs > 0 ? takenMeanwhile : 1;
      const verdict = await stage.verdict(strikes, forgotten, liftOnce);
      expect(lifts, 'holds for one loss').toBeLessThanOrEqual(1);
      const numbers = new Set([...emulator.contacts()].map(({ contact }) => contact));
      const gone = [...late.notices.values()].filter((contact) => !numbers.has(contact)).length;
      const note =
        `${verdict.twice} contacts were accepted twice, of ${forgotten} whose settlement Redis may have lost; ` +
        `${gone} of ${late.notices.size} notices that were queued meanwhile are lost; ` +
        (lifts > 0 ? 'the queue was held, and lifted manually.' : 'the queue was not held.');
      expect(conclude(name, verdict, { boundMs: AFTER_REDIS }, note)).toEqual([]);
    } finally {
      await stage.close();
    }
  });
});
