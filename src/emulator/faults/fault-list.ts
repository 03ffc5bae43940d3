import { randomBytes } from 'node:crypto';
import type { Fault } from './fault.ts';

export interface FaultReport {
  readonly id: number;
  readonly fault: Fault;
  readonly fired: number;
  /** True once it was applied `times` times. */
  readonly spent: boolean;
}

interface Standing extends Omit<FaultReport, 'fired' | 'spent'> {
  readonly random: () => number;
  fired: number;
}

/** The active faults, in the order in which they were added. */
export class FaultList {
  #standing: Standing[] = [];
  #lastId = 0;

  add(fault: Fault): number {
    this.#lastId += 1;
    const seed = fault.seed ?? randomBytes(4).readUInt32LE();
    this.#standing.push({ id: this.#lastId, fault, random: randomFrom(seed), fired: 0 });
    return this.#lastId;
  }

  /** Whether a fault depends on the body of requests to this endpoint. */
  needsBody(endpoint: 'send' | 'token'): boolean {
    return this.#standing.some(
      ({ fault }) => fault.containing !== undefined && concerns(fault, endpoint),
    );
  }

  /**
   * The fault for this request: the first one that is not used up, whose text the body contains and whose
   * rate applies.
   */
  next(endpoint: 'send' | 'token', body?: Buffer): Fault | undefined {
    for (const standing of this.#standing) {
      const { fault, random } = standing;
      if (!concerns(fault, endpoint) || isSpent(standing)) continue;
      if (fault.containing !== undefined && body?.includes(fault.containing) !== true) continue;
      if (fault.rate !== undefined && random() >= fault.rate) continue;
      standing.fired += 1;
      return fault;
    }
    return undefined;
  }

  all(): FaultReport[] {
    return this.#standing.map(({ id, fault, fired }) => {
      return { id, fault, fired, spent: isSpent({ fault, fired }) };
    });
  }

  clear(): void {
    this.#standing = [];
  }
}

const concerns = ({ on }: Fault, endpoint: 'send' | 'token') => on === 'any' || on === endpoint;

const isSpent = ({ fault, fired }: Pick<FaultReport, 'fault' | 'fired'>): boolean =>
  fault.times !== undefined && fired >= fault.times;

/** Numbers in [0, 1) that depend on the seed only (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
