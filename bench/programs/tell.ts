import { nowMs } from '../harness/clock.ts';

/** Tells the parent. */
export function tell(message: object): void {
  process.send?.(message);
}

/** Tells the parent when each of some totals was reached; call the answer once for each job. */
export function counter(totals: readonly number[]): () => void {
  let done = 0;
  return () => {
    done += 1;
    if (totals.includes(done)) tell({ reached: done, atMs: nowMs() });
  };
}

/** The arguments of every contestant: where Redis, or PostgreSQL, and the service are. */
export function places(): {
  readonly store: string;
  readonly service: string;
  /** Whether a job is a notice to a chunk of contacts, and not to one. */
  readonly chunks: boolean;
} {
  const [store = '', service = '', kind] = process.argv.slice(2);
  return { store, service, chunks: kind === 'chunks' };
}
