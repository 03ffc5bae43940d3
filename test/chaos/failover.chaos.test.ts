import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { liftManualHold, readHold } from '../../src/fleet/hold/holds.ts';
import { conclude } from './support/laws.ts';
import { contactsOf } from './support/apart.ts';
import type { HandedOver } from './support/judge.ts';
import { IS_SHORT } from './support/scenario.ts';
import { startCuttableSet } from './support/sentinel-set.ts';
import { AFTER_REDIS, CHUNK, CHUNK_SLOTS, NOTICE_SLOTS, PLAN } from './support/settings.ts';
import { KEYS, Stage } from './support/stage.ts';

const CONTACTS = 18_000;
const NOTICES = 400;
/** Handed over while nothing is replicated. */
const LATE = 60;
const sumOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);
const IN_FLIGHT = PLAN.processes * (CHUNK_SLOTS * CHUNK + NOTICE_SLOTS);

/**
 * The master dies, and a replica that is behind takes its place: what was done meanwhile is done
 * again, for nobody remembers it. No queue in Redis can know better; how much it is, is counted.
 */
describe.skipIf(IS_SHORT)('the master dies', () => {
  it.each([
    ['a failover to a replica in sync', 0],
    ['a failover to a stale replica', 3_000],
  ])('%s', async (name, behindMs) => {
    const sentinels = await startCuttableSet();
    const stage = await Stage.open({
      sentinels,
      contacts: CONTACTS,
      noticesAtFirst: NOTICES,
      // A receipt of the old master says nothing of the new one.
      noticesPerSecond: 0,
    }).catch(async (error: unknown) => {
      await sentinels.close();
      throw error;
    });
    const { client, fleet, loads } = stage;
    const { emulator } = fleet;
    try {
      await Promise.all(loads.map(({ handedOver }) => handedOver));
      await stage.steady();
      await stage.fault();
      const takenOf = (load: HandedOver) => {
        const counts = new Map([...emulator.contacts()].map((one) => [one.contact, one.count]));
        return sumOf(contactsOf(load).map((contact) => counts.get(contact) ?? 0));
      };
      const before = loads.map(takenOf);
      await sentinels.replicated();
      if (behindMs > 0) {
        await sentinels.cutReplication();
        await Promise.all(loads.map((load) => load.sendOthers(stage.amount(LATE))));
        await pause(behindMs);
      }
      await sentinels.killMaster();
      // How soon a Sentinel promotes is its own matter.
      stage.mended();
      const takenMeanwhile = loads.map((load, at) => takenOf(load) - (before[at] ?? 0));
      // The answers that were under way, and all that was taken since the cut, where there was one.
      const settled = behindMs > 0 ? takenMeanwhile : loads.map(() => 0);
      const forgotten = settled.map((count) => IN_FLIGHT + count);
      let lifts = 0;
      // A worker that remembers nothing of what is missing may send before another one has reported it.
      const liftOnce = async () => {
        if ((await readHold(client, KEYS))?.kind !== 'restored') return;
        await liftManualHold(client, KEYS);
        lifts += 1;
      };
      const strikes = behindMs > 0 ? Math.min(...takenMeanwhile) : 1;
      const verdicts = await stage.verdict(strikes, forgotten, liftOnce);
      expect(lifts, 'holds for one loss').toBeLessThanOrEqual(1);
      const numbers = new Set([...emulator.contacts()].map(({ contact }) => contact));
      const late = loads.flatMap(({ others }) => [...others.values()]);
      const gone = late.filter((contact) => !numbers.has(contact)).length;
      // What was under way is of both.
      const mostLost = sumOf(settled) + IN_FLIGHT;
      const unseen = sumOf(
        verdicts.map(({ delivery, twice, again, uncounted }) =>
          delivery === 'at-most-once' ? twice + again : uncounted,
        ),
      );
      expect(unseen, 'duplicates of both policies').toBeLessThanOrEqual(mostLost);
      const note =
        `of ${mostLost} contacts Redis may have lost the settlement; ` +
        `${gone} of ${late.length} notices that were queued meanwhile are lost; ` +
        (lifts > 0 ? 'the queue was held, and lifted manually.' : 'the queue was not held.');
      expect(conclude(name, verdicts, { boundMs: AFTER_REDIS }, note)).toEqual([]);
    } finally {
      await stage.close();
    }
  });
});
