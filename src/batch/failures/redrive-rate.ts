import { z } from 'zod';

const MAX_RATE = 1_000_000;
const PROBLEM = `expected a whole number from 1 to ${MAX_RATE}`;

/** Contacts of a batch, or single notices, that are sent again per second at most. */
export const redriveRate = z.int(PROBLEM).min(1, PROBLEM).max(MAX_RATE, PROBLEM);

/** Milliseconds by which so many since `startedAt` (performance.now) are ahead of a rate per second; 0 if none. */
export function msAhead(done: number, rate: number, startedAt: number): number {
  return Math.max(0, (done / rate) * 1_000 - (performance.now() - startedAt));
}
