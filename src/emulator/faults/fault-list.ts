import { randomBytes } from 'node:crypto';
import type { Fault } from './fault.ts';

export interface FaultReport {
  readonly id: number;
  readonly fault: Fault;
  fired: number;
  /** True once it was applied `times` times. */
  spent: boolean;
}

/** The active faults, in the order in which they were added. */
export class FaultList {
  #standing: { readonly report: FaultReport; readonly random: () => number }[] = [];
  #lastId = 0;

  add(fault: Fault): number {
    const id = ++this.#lastId;
    const seed = fault.seed ?? randomBytes(4).readUInt32LE();
    const report = { id, fault, fired: 0, spent: false };
    this.#standing.push({ report, random: randomFrom(seed) });
    return id;
  }

  /** Whether a fault depends on the body of requests to this endpoint. */
  needsBody(endpoint: 'send' | 'token'): boolean {
    return this.#standing.some(
      ({ report: { fault } }) => fault.containing !== undefined && concerns(fault, endpoint),
    );
  }

  /**
   * The fault for this request: the first one that is not used up, whose text the body contains and whose
   * rate applies.
   */
  next(endpoint: 'send' | 'token', body?: Buffer): Fault | undefined {
    for (const { report, random } of this.#standing) {
      const { fault } = report;
      if (!concerns(fault, endpoint) || report.spent) continue;
      if (fault.containing !== undefined && body?.includes(fault.containing) !== true) continue;
      if (fault.rate !== undefined && random() >= fault.rate) continue;
      report.fired += 1;
      report.spent = report.fired === fault.times;
      return fault;
    }
    return undefined;
  }

  all(): FaultReport[] {
    return this.#standing.map(({ report }) => ({ ...report }));
  }

  clear(): void {
    this.#standing = [];
  }
}

const concerns = ({ on }: Fault, endpoint: 'send' | 'token') => on === 'any' || on === endpoint;

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
