import { isCancel } from 'axios';
import type { AxiosError } from 'axios';
import type { IAxiosRetryConfig } from 'axios-retry';
import { Exchange } from './http/exchange.ts';
import type { WireFacts } from './http/exchange.ts';

const MAX_RETRIES = 10;
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 2_000;

/**
 * Whether an issuance may be tried again at once: only where nothing was sent or the service failed
 * (5xx). An abandoned request may still issue, and kill the token that the next one brings.
 */
export function mayIssueAgain(facts: WireFacts | undefined): boolean {
  if (facts === undefined) return false;
  if (facts.status !== undefined) return facts.status >= 500 && facts.status <= 599;
  if (facts.started || facts.failureCode === 'DEADLINE') return false;
  return facts.failure !== 'certificate' && facts.failure !== 'aborted';
}

/**
 * Milliseconds before retry `count` (from 1): half of an exponential delay for certain, the other
 * half by chance.
 */
export function issueDelay(count: number, random: number): number {
  const full = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (count - 1));
  return full * (0.5 + random / 2);
}

/** Retries of an issuance as a policy of axios-retry; the exchange's deadline bounds them all. */
export const ISSUE_POLICY: IAxiosRetryConfig = {
  retries: MAX_RETRIES,
  retryCondition: (error: AxiosError) => {
    const data: unknown = error.config?.data;
    return data instanceof Exchange && !isCancel(error) && mayIssueAgain(data.facts);
  },
  retryDelay: (count) => issueDelay(count, Math.random()),
};
