import { afterEach } from 'vitest';
import { HoldGate, type HoldMove } from '../../../../src/fleet/hold/hold-gate.ts';
import type { Aside } from '../../../../src/fleet/hold/own-trouble.ts';
import { hintChannel, Hints } from '../../../../src/redis/hints.ts';
import type { Keys } from '../../../../src/redis/keys.ts';
import { ServerClock } from '../../../../src/redis/server-clock.ts';
import { testRedis } from '../../../support/redis.ts';
import { signal, until } from '../../../support/wait.ts';

export const SETTINGS = { holdProbeMinMs: 200, holdProbeMaxMs: 1_000, retryAfterMaxMs: 60_000 };

/** A process of the fleet, as far as holds go. */
export type GateProcess = Awaited<ReturnType<ReturnType<typeof hasGates>['process']>>;

/** Processes that share a real Redis, for the tests of one file. */
export function hasGates() {
  const redis = testRedis();
  const gates: HoldGate[] = [];
  afterEach(() => {
    for (const gate of gates.splice(0)) gate.stop();
  });

  /** @param hears whether it gets hints @param othersAccepted what it finds of the others */
  async function process(keys: Keys, hears = true, othersAccepted = false) {
    const moves: HoldMove[] = [];
    const asides: (Aside | undefined)[] = [];
    const hints = new Hints(redis.connect({ name: 'hints', forWorker: true }));
    const listening = signal();
    hints.subscribe(hintChannel(redis.client, keys.holdHints), (text) => {
      if (text === undefined) listening.resolve();
    });
    const clock = new ServerClock(redis.client);
    await clock.read();
    const id = `process-${gates.length}`;
    const gate = new HoldGate({
      redis: redis.client,
      hints,
      keys,
      id,
      settings: SETTINGS,
      now: () => clock.now(),
      othersAccepted: () => Promise.resolve(othersAccepted),
      onMove: (move) => moves.push(move),
      onAside: (aside) => asides.push(aside),
      onTemplateHeld: () => {},
    });
    gates.push(gate);
    if (hears) gate.start();
    await listening.promise;
    /** Makes an attempt; fails the test where the gate is closed. */
    const open = async (template = 'T') => {
      const passage = await gate.enter(template, false);
      if (passage === undefined || 'putOffMs' in passage) throw new Error('the gate is closed');
      return passage;
    };
    await open();
    return { id, gate, moves, asides, open };
  }

  return {
    redis,
    process,
    freshKeys: () => redis.account().keys,
    /** Waits until the next probe is due, by the clock of Redis. */
    untilDue: async (keys: Keys) => {
      await until(async () => (await redis.client.pttl(keys.limiter)) < 0, { what: 'the probe' });
    },
  };
}
