import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { placeManualHold, liftManualHold } from '../../src/fleet/hold/holds.ts';
import { until } from '../support/wait.ts';
import type { SendOptions } from '../../src/contracts/send-options.ts';
import { isOf } from './support/apart.ts';
import { conclude } from './support/laws.ts';
import type { Load } from './support/load.ts';
import { IS_SHORT } from './support/scenario.ts';
import { KEYS, Stage } from './support/stage.ts';

const PRELOAD = new URL('../support/shifted-clock.mjs', import.meta.url).href;
const TWO_MINUTES_MS = 120_000;
const LATER_MS = 6_000;
const IN_TIME_MS = 30_000;
const SOON_MS = 1_000;
const LIFETIME_MS = 6_000;
const RENEW_BEFORE_MS = 1_500;
const EACH = 40;

const SHIFTS: readonly [name: string, shiftMs: number][] = [
  ['a worker two minutes ahead', TWO_MINUTES_MS],
  ['a worker two minutes behind', -TWO_MINUTES_MS],
];

/** One of two workers has a wrong wall clock; the tokens expire, and notices have times. */
it.each(IS_SHORT ? SHIFTS.slice(0, 1) : SHIFTS)('%s', async (name, shiftMs) => {
  const began = Date.now();
  const stage = await Stage.open({
    processes: 2,
    noticesPerSecond: 12,
    seconds: 10,
    env: { TOKEN_RENEW_BEFORE_MS: String(RENEW_BEFORE_MS) },
    firstEnv: { NODE_OPTIONS: `--import=${PRELOAD}`, CLOCK_SHIFT_MS: String(shiftMs) },
    emulator: { keepDetails: 1_000_000, tokenLifetimeMs: LIFETIME_MS, showExpiry: 'answer' },
  });
  try {
    await stage.steady();
    await stage.fault();
    const { emulator, workers } = stage.fleet;
    const each = stage.amount(EACH);
    const hand = async (options: SendOptions) =>
      (await Promise.all(stage.loads.map((load) => load.sendOthers(each, options)))).flat();
    // The deadline of these passes while a person holds the queue.
    await placeManualHold(stage.client, KEYS, 'a deadline passes');
    const tooLate = await hand({ expiresAt: Date.now() + SOON_MS });
    await pause(2 * SOON_MS);
    await liftManualHold(stage.client, KEYS);
    const inTime = await hand({ expiresAt: Date.now() + IN_TIME_MS });
    const dueAt = Date.now() + LATER_MS;
    const later = [...(await hand({ delay: LATER_MS })), ...(await hand({ sendAt: dueAt }))];
    const taken = () =>
      new Map(emulator.details().map(({ contact, at }) => [contact, at] as const));
    // Whatever is missing then is seen below.
    await until(
      () => {
        const now = taken();
        return [...later, ...inTime].every((contact) => now.has(contact));
      },
      { what: 'all that is to be sent', deadlineMs: IN_TIME_MS, everyMs: 100 },
    ).catch(() => {});

    const [shifted] = workers;
    const acceptedBy = (load: Load) =>
      (shifted?.lines ?? []).filter(
        ({ job, outcome }) => outcome === 'accepted' && isOf(load, String(job)),
      ).length;
    const verdicts = await stage.verdict(Math.min(...stage.loads.map(acceptedBy)));
    const takenAt = taken();
    const count = (contacts: readonly string[], fits: (at: number) => boolean) =>
      contacts.filter((contact) => fits(takenAt.get(contact) ?? Infinity)).length;
    const seen = {
      early: count(later, (at) => at < dueAt - 500),
      earliestMs: Math.min(...later.map((contact) => (takenAt.get(contact) ?? Infinity) - dueAt)),
      sent: count(later, Number.isFinite),
      inTime: count(inTime, Number.isFinite),
      tooLate: count(tooLate, Number.isFinite),
    };
    console.log(name, seen);
    const renewals = Math.ceil((Date.now() - began) / (LIFETIME_MS - RENEW_BEFORE_MS));
    const renewed = verdicts.map((verdict) => ({
      ...verdict,
      invalidated: verdict.invalidated + renewals,
    }));
    expect(conclude(name, renewed, {})).toEqual([]);
    const all = inTime.length;
    expect(seen).toMatchObject({ early: 0, sent: 2 * all, inTime: all, tooLate: 0 });
  } finally {
    await stage.close();
  }
});
