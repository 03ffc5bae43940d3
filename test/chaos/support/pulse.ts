import type { Emulator } from '../../../src/emulator/emulator.ts';
import type { LogLine } from '../../support/fleet.ts';

/** A time in which the service took nothing: milliseconds since the epoch. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

const EVERY_MS = 25;
/** Four rounds of answers of the service: less of it would measure their rhythm. */
const WINDOW_MS = 1_000;
/** Over so long the speed is measured to which a fleet comes back. */
const SUSTAINED_MS = 2_000;
/** The part of a speed that counts as all of it. */
const FULL = 0.8;

/** How many contacts the service has taken, over time: what a recovery is measured by. */
export class Pulse {
  readonly #emulator: Pick<Emulator, 'record'>;
  readonly #samples: { readonly at: number; readonly contacts: number }[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(emulator: Pick<Emulator, 'record'>) {
    this.#emulator = emulator;
    this.#look();
    this.#timer = setInterval(() => this.#look(), EVERY_MS);
  }

  stop(): void {
    this.#look();
    clearInterval(this.#timer);
  }

  /** Contacts a second between two times. */
  speed(from: number, to: number): number {
    return ((this.#at(to) - this.#at(from)) * 1_000) / Math.max(1, to - from);
  }

  /**
   * Milliseconds from a time until the service is at full speed: so much of the speed before, or of the
   * speed to which the fleet comes back and which must be half of that at least, for the machine has
   * other things to do, too. Infinity when that did not happen before all was sent.
   */
  backAfter(since: number, before: number): number {
    const end = this.#end();
    const starts = this.#samples.map(({ at }) => at).filter((at) => at >= since);
    const sustained = starts
      .filter((at) => at + SUSTAINED_MS <= end)
      .map((at) => this.speed(at, at + SUSTAINED_MS));
    const after = Math.max(0, ...sustained);
    if (after < before / 2) return Infinity;
    const full = FULL * Math.min(before, after);
    const back = starts.find(
      (at) => at + WINDOW_MS <= end && this.speed(at, at + WINDOW_MS) >= full,
    );
    return back === undefined ? Infinity : Math.round(back - since);
  }

  /** The times without an accepted contact, in milliseconds since the epoch. */
  gaps(from: number, to: number): Gap[] {
    const gaps: Gap[] = [];
    let [lastAt, before] = [from, this.#at(from)];
    for (const { at, contacts } of this.#samples) {
      if (at < from || at > to || contacts === before) continue;
      const { timeOrigin } = performance;
      gaps.push({ from: timeOrigin + lastAt, to: timeOrigin + at });
      [lastAt, before] = [at, contacts];
    }
    return gaps;
  }

  #look(): void {
    this.#samples.push({ at: performance.now(), contacts: this.#emulator.record().contacts });
  }

  /** When the last contact was taken. */
  #end(): number {
    const last = this.#samples.at(-1)?.contacts;
    return this.#samples.find(({ contacts }) => contacts === last)?.at ?? 0;
  }

  #at(time: number): number {
    let [low, high] = [0, this.#samples.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#samples[middle]?.at ?? 0) <= time) low = middle + 1;
      else high = middle;
    }
    return this.#samples[low - 1]?.contacts ?? 0;
  }
}

/**
 * How long each recovery took. Of faults of which the next ended before the fleet was back, the last counts.
 *
 * @param endedAt ends of the faults, in their order
 * @param backAfter time from such an end to full speed; Infinity for never
 */
export function recoveries(
  endedAt: readonly number[],
  backAfter: (at: number) => number,
): number[] {
  return endedAt.flatMap((at, index) => {
    const took = backAfter(at);
    const next = endedAt[index + 1];
    return next !== undefined && at + took > next ? [] : [took];
  });
}

/** What was fetched or under way ends first; and the sends of the first acceptance begin before it. */
const MARGIN_MS = 500;

/**
 * The most commands a second that one worker process sent to Redis while the service took nothing, by the lines of
 * preload/count-commands.mjs that lie within such a time.
 *
 * @param workers the lines of each
 * @returns NaN where nothing was counted at all: that proves nothing
 */
export function mostCommands(
  workers: readonly { readonly lines: readonly LogLine[] }[],
  gaps: readonly Gap[],
): number {
  const counted = workers.flatMap(({ lines }) =>
    lines.filter(({ event }) => event === 'redis-commands'),
  );
  if (counted.length === 0) return NaN;
  const rates = counted
    .map(({ at, ms, commands }) => ({ to: Number(at), ms: Number(ms), commands: Number(commands) }))
    .filter(({ to, ms }) =>
      gaps.some((gap) => to - ms >= gap.from + MARGIN_MS && to <= gap.to - MARGIN_MS),
    )
    .map(({ ms, commands }) => (commands * 1_000) / ms);
  return Math.round(Math.max(0, ...rates));
}
