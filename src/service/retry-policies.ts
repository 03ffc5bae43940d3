import { isCancel } from 'axios';
import type { AxiosError } from 'axios';
import type { IAxiosRetryConfig } from 'axios-retry';
import { Exchange } from './http/exchange.ts';
import type { WireFacts } from './http/exchange.ts';

const ISSUE_RETRIES = 10;
const ISSUE_FIRST_DELAY_MS = 100;
const ISSUE_MAX_DELAY_MS = 2_000;
const UNSENT_DELAY_MS = 100;

/**
 * Proof that a request was not sent, for a reason that may be gone a moment later. A certificate that
 * does not verify stays so, and a call that was given up or is out of time has ended.
 */
function wasNotSent(facts: WireFacts): boolean {
  if (facts.started || facts.status !== undefined || facts.failureCode === 'DEADLINE') return false;
  return facts.failure !== 'certificate' && facts.failure !== 'aborted';
}

/**
 * Whether an issuance may be retried: only where nothing was sent or the service failed (5xx). An
 * abandoned request may still issue a token, and invalidate the one that the retry gets.
 */
export function mayRetryIssuance(facts: WireFacts | undefined): boolean {
  if (facts?.status !== undefined) return facts.status >= 500 && facts.status <= 599;
  return facts !== undefined && wasNotSent(facts);
}

/**
 * Whether a send request may be repeated as it is: only where it was provably not sent. Anything else
 * may have been accepted.
 *
 * @param unsent requests of this call that were not sent, this one included
 * @param limit NOT_SENT_RETRIES
 */
export function mayRetrySend(facts: WireFacts | undefined, unsent: number, limit: number): boolean {
  return facts !== undefined && wasNotSent(facts) && unsent <= limit;
}

/** Milliseconds before retry `count` (from 1): exponential; half of the delay is random. */
export function issueDelay(count: number, random: number): number {
  const full = Math.min(ISSUE_MAX_DELAY_MS, ISSUE_FIRST_DELAY_MS * 2 ** (count - 1));
  return full * (0.5 + random / 2);
}

/** Retries of a token issuance; the deadline of the exchange bounds them all. */
export const ISSUE_RETRY: IAxiosRetryConfig = {
  retries: ISSUE_RETRIES,
  retryCondition: (error) => !isCancel(error) && mayRetryIssuance(exchangeOf(error)?.facts),
  retryDelay: (count) => issueDelay(count, Math.random()),
};

/**
 * Milliseconds before a send request that was not sent is repeated.
 *
 * @param unsent requests of the call that were not sent, from 1
 */
export const unsentDelay = (unsent: number, random: number): number =>
  UNSENT_DELAY_MS * unsent * (0.5 + random);

function exchangeOf(error: AxiosError): Exchange | undefined {
  const data: unknown = error.config?.data;
  return data instanceof Exchange ? data : undefined;
}
