import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { DELIVERY_POLICIES } from '../../src/contracts/outcome.ts';
import { liftManualHold } from '../../src/fleet/hold/hold-scripts.ts';
import { startFleet } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { IS_SHORT } from './support/catalogue.ts';
import { mostCommands } from './support/commands.ts';
import { gatherEvidence, isOver, whatIsOpen } from './support/evidence.ts';
import { judge } from './support/judge.ts';
import { Load } from './support/load.ts';
import { conclude } from './support/play.ts';
import { Pulse } from './support/pulse.ts';
import { startCuttableSet } from './support/sentinel-set.ts';
import {
  AFTER_REDIS,
  CHUNK,
  CHUNK_SLOTS,
  ENV,
  LATENCY_MS,
  NOTICE_SLOTS,
} from './support/settings.ts';
import { holdsSeen, KEYS, PREFIX } from './support/stage.ts';
import { watchSums } from './support/watch-sums.ts';

const WORKERS = 3;
const CONTACTS = 18_000;
const NOTICES = 400;
/** Handed over while nothing is replicated. */
const LATE = 60;
const IN_FLIGHT = WORKERS * (CHUNK_SLOTS * CHUNK + NOTICE_SLOTS);

/**
 * The master dies, and a replica that is behind takes its place: what was done meanwhile is done
 * again, for nobody remembers it. No queue in Redis can know better; how much it is, is counted.
 */
describe.skipIf(IS_SHORT).each(DELIVERY_POLICIES)('%s', (delivery) => {
  it.each([
    ['a failover to a replica in sync', 0],
    ['a failover to a stale replica', 3_000],
  ])('%s', async (name, behindMs) => {
    const set = await startCuttableSet();
    const { client } = set;
    const fleet = await startFleet({
      redisUrl: set.masterUrl,
      prefix: PREFIX,
      processes: WORKERS,
      env: { ...ENV, ...set.env },
      emulator: { latencyMs: LATENCY_MS, keepDetails: 0 },
    });
    const { emulator } = fleet;
    const taken = () => emulator.record().contacts;
    const pulse = new Pulse(emulator);
    const watch = watchSums(new Ledger(client, KEYS));
    try {
      const load = new Load(fleet.queue, delivery, CONTACTS);
      load.beginImport(CONTACTS);
      await load.send(NOTICES);
      await load.handedOver;
      await until(() => taken() > IN_FLIGHT, { what: 'the first sends', deadlineMs: 30_000 });
      const beganAt = performance.now();
      await pause(1_500);
      const speed = pulse.speed(beganAt, performance.now());

      const before = taken();
      await set.replicated();
      const late = new Load(fleet.queue, delivery, CONTACTS + NOTICES);
      if (behindMs > 0) {
        await set.cutReplication();
        await late.send(LATE);
        await pause(behindMs);
      }
      await set.killMaster();
      // How soon a Sentinel promotes is its own matter.
      const promotedAt = performance.now();
      const takenMeanwhile = taken() - before;
      // The answers that were under way, and all that was taken since the cut, where there was one.
      const forgotten = IN_FLIGHT + (behindMs > 0 ? takenMeanwhile : 0);
      let lifts = 0;
      // A worker that remembers nothing of what is missing may send before another one has reported it.
      const goesOn = async () => {
        if ((await client.hget(KEYS.hold, 'kind')) === 'restored') {
          await liftManualHold(client, KEYS);
          lifts += 1;
        }
        return isOver(client, KEYS);
      };
      await until(() => goesOn().catch(() => false), {
        what: 'the end of the load',
        deadlineMs: 150_000,
        everyMs: 100,
      }).catch(async (error: unknown) => {
        const open = await whatIsOpen(client, KEYS);
        throw new Error(`${String(error)}: ${JSON.stringify(open)}`);
      });
      expect(lifts, 'holds for one loss').toBeLessThanOrEqual(1);
      await pause(LATENCY_MS);
      const endedAt = performance.now();
      const { looks, wrongSums } = await watch.stop();
      for (const worker of fleet.workers) worker.kill('SIGTERM');
      const codes = await Promise.all(fleet.workers.map(({ ended }) => ended));
      pulse.stop();
      const fate = judge(await gatherEvidence(client, KEYS, load, fleet));
      const numbers = new Set([...emulator.contacts()].map(({ contact }) => contact));
      const gone = [...late.notices.values()].filter((contact) => !numbers.has(contact)).length;
      const note =
        `${fate.twice} contacts were accepted twice, of ${forgotten} whose settlement Redis may have lost; ` +
        `${gone} of ${late.notices.size} notices that were queued meanwhile are lost; ` +
        (lifts > 0 ? 'the queue was held, and lifted manually.' : 'the queue was not held.');
      expect(
        conclude(
          name,
          {
            ...fate,
            delivery,
            looks,
            wrongSums,
            forgotten,
            faults: 1,
            strikes: behindMs > 0 ? takenMeanwhile : 1,
            onDead: 0,
            late: 0,
            fallen: codes.filter((code) => code !== 0).length,
            recoveriesMs: [pulse.backAfter(promotedAt, speed)],
            holds: holdsSeen(fleet),
            mostCommands: mostCommands(fleet.workers, pulse.gaps(beganAt, endedAt)),
            longestGapMs: pulse.longestGap(beganAt, endedAt),
          },
          { boundMs: AFTER_REDIS },
          note,
        ),
      ).toEqual([]);
    } finally {
      pulse.stop();
      await watch.stop();
      await fleet.close();
      await set.close();
    }
  });
});
