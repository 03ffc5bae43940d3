import type { Ledger } from '../ledger/ledger.ts';
import type { FailureRecord } from '../ledger/ledger-reader.ts';

/** States of contacts that were not accepted and never will be by themselves. */
export const FAILED_STATES = ['rejected', 'unknown', 'expired', 'cancelled'] as const;

/** Name of such a state. */
export type FailedState = (typeof FAILED_STATES)[number];

/** Which failures are meant; all of them where a field is left out. */
export interface FailureFilter {
  readonly state?: FailedState | undefined;
  /** The service's code, or one of ours. */
  readonly code?: string | undefined;
}

/** Whether a failure is meant. */
export function matches(
  { state, code }: FailureFilter,
  failure: { readonly state: FailedState; readonly code: string },
): boolean {
  return (
    (state === undefined || failure.state === state) &&
    (code === undefined || failure.code === code)
  );
}

/**
 * The failures that are meant, each once: while others come and go Redis may hand one out twice.
 *
 * Contacts that were cancelled are no failures to the ledger; export-failures.ts finds them.
 */
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
