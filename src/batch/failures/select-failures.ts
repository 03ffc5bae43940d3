import type { Ledger } from '../ledger/ledger.ts';
import type { FailureRecord } from '../ledger/ledger-reader.ts';

/** Final states of contacts that were not accepted. */
export const FAILED_STATES = ['rejected', 'unknown', 'expired', 'cancelled'] as const;

export type FailedState = (typeof FAILED_STATES)[number];

/** Selects failures; a field that is undefined matches all. */
export interface FailureFilter {
  readonly state?: FailedState | undefined;
  readonly code?: string | undefined;
}

export function matches(
  { state, code }: FailureFilter,
  failure: { readonly state: FailedState; readonly code: string },
): boolean {
  return (
    (state === undefined || failure.state === state) &&
    (code === undefined || failure.code === code)
  );
}

/** Failures that match, each once: Redis may return one twice while others are added or removed. */
export async function* selectFailures(
  ledger: Pick<Ledger, 'failures'>,
  id: string,
  filter: FailureFilter,
): AsyncGenerator<FailureRecord> {
  const seen = new Set<string>();
  for await (const failure of ledger.failures(id)) {
    if (seen.has(failure.name) || !matches(filter, failure)) continue;
    seen.add(failure.name);
    yield failure;
  }
}
