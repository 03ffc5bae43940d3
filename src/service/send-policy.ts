import { isCancel } from 'axios';
import type { AxiosError } from 'axios';
import type { IAxiosRetryConfig } from 'axios-retry';
import type { WireFacts } from './http/exchange.ts';
import { SendCall } from './send-call.ts';
import type { ServiceSettings } from './settings.ts';

/** What follows a try of a send call: another token, the same once more, or the end. */
export type NextTry = 'renew' | 'again' | 'stop';

const UNSENT_DELAY_MS = 100;

/**
 * Decides what follows a try.
 *
 * - 401 or 403: once in a call, another token (service-api, Authentication rule 4).
 * - Provably not sent: the same once more, up to `limit` times. A certificate that does not verify
 *   will not verify a moment later, and a call that was given up stays so.
 * - Anything else may have been taken, so the call ends.
 */
export function nextTry(
  facts: WireFacts | undefined,
  refusals: number,
  unsent: number,
  limit: number,
): NextTry {
  if (facts === undefined) return 'stop';
  if (facts.status === 401 || facts.status === 403) return refusals === 0 ? 'renew' : 'stop';
  if (facts.started || facts.status !== undefined) return 'stop';
  if (facts.failure === 'certificate' || facts.failure === 'aborted') return 'stop';
  if (facts.failureCode === 'DEADLINE') return 'stop';
  return unsent <= limit ? 'again' : 'stop';
}

/**
 * The single refresh-and-retry of a send as a policy of axios-retry. Its hook asks the token source
 * for another token than the one that was refused; what the source throws ends the call and passes
 * through.
 */
export function sendPolicy(settings: Pick<ServiceSettings, 'notSentRetries'>): IAxiosRetryConfig {
  const limit = settings.notSentRetries;
  const next = (call: SendCall): NextTry =>
    nextTry(call.facts, call.refused.length, call.unsent, limit);

  return {
    retries: limit + 1,
    retryCondition: (error) => {
      const call = callOf(error);
      return call !== undefined && !isCancel(error) && next(call) !== 'stop';
    },
    retryDelay: (_count, error) => {
      const call = callOf(error);
      if (call === undefined || next(call) === 'renew') return 0;
      return UNSENT_DELAY_MS * call.unsent * (0.5 + Math.random());
    },
    onRetry: async (_count, error) => {
      const call = callOf(error);
      const status = call?.facts?.status;
      if (call === undefined || (status !== 401 && status !== 403)) return;
      // Without another token the call was given up meanwhile, and axios-retry ends it.
      await call.renewToken(status);
    },
  };
}

function callOf(error: AxiosError): SendCall | undefined {
  const data: unknown = error.config?.data;
  return data instanceof SendCall ? data : undefined;
}
