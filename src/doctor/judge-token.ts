import { ERROR_CODES, type NoticeQueueError } from '../contracts/errors.ts';
import type { TokenStatus } from '../token/token-status.ts';
import { fail, ok, skip, warn, type Finding } from './finding.ts';

/** Result of the issuance that doctor tried. */
export type IssueTried =
  | { readonly kind: 'issued'; readonly id: string; readonly ms: number }
  /** The failure is not stored for the fleet. */
  | { readonly kind: 'failed'; readonly error: NoticeQueueError }
  /** Another process is issuing a token, or has just renewed it. */
  | { readonly kind: 'left' };

/** State of the shared token. */
export interface TokenSnapshot {
  /** State before doctor issued a token. */
  readonly status: TokenStatus;
  /** Undefined where doctor did not try to issue a token. */
  readonly tried: IssueTried | undefined;
  /** Address of the caller as the service reported it in a refusal; absent where it did not. */
  readonly callerAddress?: string | undefined;
  /** TOKEN_BUDGET: issuances allowed per window. */
  readonly budget: number;
}

/**
 * Checks whether tokens are available. The first row that matches applies:
 *
 * | doctor issued | the shared token | finding |
 * |---|---|---|
 * | a token | | ok |
 * | nothing: refused or no answer | | fail, with the code's remedy |
 * | nothing: another process is issuing | | warn |
 * | nothing | a refusal is stored | fail, with the code's remedy |
 * | nothing | more than half of the budget is used | warn |
 * | nothing | valid | ok |
 */
export function judgeToken(snapshot: TokenSnapshot): Finding[] {
  return [tokenOf(snapshot), addressOf(snapshot)];
}

function tokenOf({ status, tried, budget }: TokenSnapshot): Finding {
  const { token, refusal, issuances } = status;
  if (tried?.kind === 'issued') {
    return ok(
      'service.token',
      `a token was issued in ${Math.round(tried.ms)} ms and shared with the fleet (${tried.id})`,
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
      `the service refused to issue a token (${refusal.code}): ${meaning}`,
      remedy,
    );
  }
  if (tried?.kind === 'left') {
    return warn(
      'service.token',
      'another process is issuing a token or has just renewed it; doctor issued none',
      'run doctor again in a minute',
    );
  }
  if (token === undefined)
    return skip('service.token', 'no token is stored, and doctor was not asked to issue one');
  if (issuances > budget / 2) {
    return warn(
      'service.token',
      `${issuances} tokens were issued in ten minutes, of at most ${budget}: tokens become invalid too early`,
      'check whether another program uses this key pair, and which requests are answered with 403',
    );
  }
  return ok('service.token', `the token ${token.id} is valid; none was issued now`);
}

function addressOf({ status, tried, callerAddress }: TokenSnapshot): Finding {
  const code = tried?.kind === 'failed' ? tried.error.code : status.refusal?.code;
  const { remedy } = ERROR_CODES.IP_NOT_ALLOWED;
  if (callerAddress !== undefined) {
    return code === 'IP_NOT_ALLOWED'
      ? fail(
          'service.address',
          `the service refuses the address ${callerAddress} of this machine`,
          remedy,
        )
      : ok('service.address', `the service sees the address ${callerAddress}`);
  }
  if (code === 'IP_NOT_ALLOWED') {
    return fail(
      'service.address',
      'refused; the service does not report which address it sees',
      remedy,
    );
  }
  return skip('service.address', 'not shown: the service reports it only when it refuses a caller');
}
