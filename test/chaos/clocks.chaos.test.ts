import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { placeManualHold, liftManualHold } from '../../src/fleet/hold/holds.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { IS_SHORT, policiesOf } from './scenarios/all.ts';
import { conclude } from './support/laws.ts';
import { KEYS, Stage } from './support/stage.ts';

const PRELOAD = new URL('../support/shifted-clock.mjs', import.meta.url).href;
const TWO_MINUTES_MS = 120_000;
const LATER_MS = 6_000;
const IN_TIME_MS = 30_000;
const SOON_MS = 1_000;
const LIFETIME_MS = 6_000;
const RENEW_BEFORE_MS = 1_500;
const EACH = 40;
const OTHERS = 5_000_000;

/** One of two workers has a wrong wall clock; the tokens expire, and notices have times. */
describe.each(policiesOf(0))('%s', (delivery) => {
  const ahead = ['a worker two minutes ahead', TWO_MINUTES_MS] as const;
  const behind = ['a worker two minutes behind', -TWO_MINUTES_MS] as const;

  it.each(IS_SHORT ? [ahead] : [ahead, behind])('%s', async (name, shiftMs) => {
    const began = Date.now();
    const stage = await Stage.open(delivery, {
      processes: 2,
      seconds: 10,
      env: { TOKEN_RENEW_BEFORE_MS: String(RENEW_BEFORE_MS) },
      firstEnv: { NODE_OPTIONS: `--import=${PRELOAD}`, CLOCK_SHIFT_MS: String(shiftMs) },
      emulator: { keepDetails: 1_000_000, tokenLifetimeMs: LIFETIME_MS, showExpiry: 'answer' },
    });
    try {
      await stage.steady();
      await stage.fault();
      const { emulator, queue, workers } = stage.fleet;
      const of = (group: number) => numbers(EACH, OTHERS + group * EACH);
      const [delayed, dated, inTime, tooLate] = [of(0), of(1), of(2), of(3)];
      const hand = (contacts: readonly string[], options: object) =>
        queue.sendMany(
          contacts.map((contact) => ({ templateCode: 'CLOCK', contacts: [{ contact }] })),
          { delivery, ...options },
        );
      // The deadline of these passes while a person holds the queue.
      await placeManualHold(stage.client, KEYS, 'a deadline passes');
      await hand(tooLate, { expiresAt: Date.now() + SOON_MS });
      await pause(2 * SOON_MS);
      await liftManualHold(stage.client, KEYS);
      await hand(inTime, { expiresAt: Date.now() + IN_TIME_MS });
      const dueAt = Date.now() + LATER_MS;
      await hand(delayed, { delay: LATER_MS });
      await hand(dated, { sendAt: dueAt });
      const taken = () =>
        new Map(emulator.details().map(({ contact, at }) => [contact, at] as const));
      // Whatever is missing then is seen below.
      await until(
        () => {
          const now = taken();
          return [...delayed, ...dated, ...inTime].every((contact) => now.has(contact));
        },
        { what: 'all that is to be sent', deadlineMs: IN_TIME_MS, everyMs: 100 },
      ).catch(() => {});

      const [shifted] = workers;
      const strikes = shifted?.lines.filter(({ outcome }) => outcome === 'accepted').length ?? 0;
      const verdict = await stage.verdict(strikes);
      const takenAt = taken();
      const count = (contacts: readonly string[], fits: (at: number) => boolean) =>
        contacts.filter((contact) => fits(takenAt.get(contact) ?? Infinity)).length;
      const seen = {
        early: count([...delayed, ...dated], (at) => at < dueAt - 500),
        earliestMs: Math.min(
          ...[...delayed, ...dated].map((c) => (takenAt.get(c) ?? Infinity) - dueAt),
        ),
        sent: count([...delayed, ...dated], Number.isFinite),
        inTime: count(inTime, Number.isFinite),
        tooLate: count(tooLate, Number.isFinite),
      };
      console.log(name, delivery, seen);
      const renewals = Math.ceil((Date.now() - began) / (LIFETIME_MS - RENEW_BEFORE_MS));
      expect(
        conclude(name, { ...verdict, invalidated: verdict.invalidated + renewals }, {}),
      ).toEqual([]);
      expect(seen).toMatchObject({ early: 0, sent: 2 * EACH, inTime: EACH, tooLate: 0 });
    } finally {
      await stage.close();
    }
  });
});
