import { ERROR_CODES, type NoticeQueueError } from '../contracts/errors.ts';
import type { TokenStatus } from '../token/token-status.ts';
import { fail, ok, skip, warn, type Finding } from './finding.ts';

/** What became of the issuance that the doctor made, where it made one. */
export type IssueTried =
  | { readonly kind: 'issued'; readonly id: string; readonly ms: number }
  /** Nothing of it is remembered for the fleet. */
  | { readonly kind: 'failed'; readonly error: NoticeQueueError }
  /** Another process issues right now, or renewed a moment ago. */
  | { readonly kind: 'left' };

/** What is known of the token. */
export interface TokenSnapshot {
  /** As it was before the doctor issued anything. */
  readonly status: TokenStatus;
  /** Whether the stored token opens with this SECRET_KEY; undefined where none is stored. */
  readonly opens: boolean | undefined;
  readonly tried: IssueTried | undefined;
  /** Where the service said so when it refused: the address from which it was called. */
  readonly callerAddress?: string | undefined;
  /** TOKEN_BUDGET */
  readonly budget: number;
}

/**
 * Whether tokens can be had, the first row that fits:
 *
 * | the doctor issued | the slot | finding |
 * |---|---|---|
 * | a token | | ok |
 * | and was refused or not answered | | fail, with the code's remedy |
 * | nothing: another process is at it | | warn |
 * | nothing | a refusal stands | fail, with the code's remedy |
 * | nothing | a token that does not open | fail: another SECRET_KEY |
 * | nothing | more than half of the budget is spent | warn |
 * | nothing | a token | ok |
 */
export function judgeToken(signs: TokenSnapshot): Finding[] {
  return [tokenOf(signs), addressOf(signs)];
}

function tokenOf({ status, opens, tried, budget }: TokenSnapshot): Finding {
  const { token, refusal, issuances } = status;
  if (tried?.kind === 'issued') {
    return ok(
      'service.token',
      `a token was issued in ${Math.round(tried.ms)} ms and given to the fleet (${tried.id})`,
    );
  }
  if (tried?.kind === 'failed') {
    const { code, message } = tried.error;
    const { remedy } = ERROR_CODES[code];
    return fail('service.token', `${code}: ${message.replace(` ${remedy}`, '')}`, remedy);
  }
  if (refusal !== undefined) {
    const { meaning, remedy } = ERROR_CODES[refusal.code];
    return fail(
      'service.token',
      `the fleet was refused a token (${refusal.code}): ${meaning}`,
      remedy,
    );
  }
  if (tried?.kind === 'left') {
    return warn(
      'service.token',
      'another process issues a token, or has just renewed it; none was issued here',
      'ask again in a minute',
    );
  }
  if (token === undefined)
    return skip('service.token', 'no token is stored, and none was asked for');
  if (opens === false) {
    return fail(
      'service.token',
      `the token ${token.id} does not open: it was sealed with another SECRET_KEY than the one here`,
      'give every worker the same SECRET_KEY, the one that belongs to ACCESS_KEY',
    );
  }
  if (issuances > budget / 2) {
    return warn(
      'service.token',
      `${issuances} tokens were issued within the window of TOKEN_BUDGET (${budget}): tokens die early`,
      'see whether another program uses this key pair, and which sends are answered with 403',
    );
  }
  const used = token.proven ? 'used with success' : 'not used with success yet';
  return ok('service.token', `the token ${token.id} lives, ${used}; none was issued now`);
}

function addressOf({ status, tried, callerAddress }: TokenSnapshot): Finding {
  const code = tried?.kind === 'failed' ? tried.error.code : status.refusal?.code;
  const { remedy } = ERROR_CODES.IP_NOT_ALLOWED;
  if (callerAddress !== undefined) {
    return code === 'IP_NOT_ALLOWED'
      ? fail(
          'service.address',
          `the service was called from ${callerAddress}, and refuses it`,
          remedy,
        )
      : ok('service.address', `the service was called from ${callerAddress}`);
  }
  if (code === 'IP_NOT_ALLOWED') {
    return fail(
      'service.address',
      'refused; the service does not say which address it saw',
      remedy,
    );
  }
  return skip('service.address', 'not shown: the service may say it when it refuses a caller');
}
