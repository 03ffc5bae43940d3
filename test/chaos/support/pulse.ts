import type { Emulator } from '../../../src/emulator/emulator.ts';

const EVERY_MS = 25;
/** Four rounds of answers of the service: less of it would measure their rhythm. */
const WINDOW_MS = 600;
/** The part of the speed before that counts as full: the machine has other things to do, too. */
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

  /** Milliseconds from a time until the service is at full speed; undefined while that has not come. */
  backAfter(since: number, speed: number): number | undefined {
    const last = this.#samples.at(-1)?.at ?? 0;
    for (const { at } of this.#samples) {
      if (at < since) continue;
      if (at + WINDOW_MS > last) return undefined;
      if (this.speed(at, at + WINDOW_MS) >= speed * FULL)
        return Math.max(1, Math.round(at - since));
    }
    return undefined;
  }

  /** The longest time without an accepted contact. */
  longestGap(from: number, to: number): number {
    let [longest, lastAt, before] = [0, from, this.#at(from)];
    for (const { at, contacts } of this.#samples) {
      if (at < from || at > to || contacts === before) continue;
      longest = Math.max(longest, at - lastAt);
      [lastAt, before] = [at, contacts];
    }
    return Math.round(longest);
  }

  #look(): void {
    this.#samples.push({ at: performance.now(), contacts: this.#emulator.record().contacts });
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
