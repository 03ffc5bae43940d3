import type { ErrorCode, TokenRefusedError } from '../contracts/errors.ts';
import type { TokenKeys } from '../redis/keys.ts';
import type { ScriptClient } from '../redis/script.ts';
import { codeOf, holdOf } from './token-decision.ts';
import { redisError } from './token-record.ts';
import { inspect, scriptKeys } from './token-scripts.ts';

/** The state of the shared token for status; never its value. Times are Redis time, ms since the epoch. */
export interface TokenStatus {
  /** Absent when none is stored. */
  readonly token?: {
    readonly id: string;
    readonly issuedAt: number;
    readonly ageMs: number;
    /** Absent when the service does not report it. */
    readonly expiresAt?: number;
    readonly fence: number;
    /** Id of the worker, or name of the command, that issued it. */
    readonly issuer: string;
  };
  /** Absent when tokens may be issued. */
  readonly refusal?: {
    readonly hold: TokenRefusedError['hold'];
    readonly code: ErrorCode;
    readonly until: number;
  };
  /** A process is issuing a token. */
  readonly issuing: boolean;
  /** Issuances within the window of the budget. */
  readonly issuances: number;
}

/**
 * Reads the state of one shared token with one script; needs no key to decrypt the token.
 *
 * @param windowMs TOKEN_BUDGET_WINDOW_MS
 * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
 */
export async function readTokenStatus(
  redis: ScriptClient,
  keys: TokenKeys,
  windowMs = 600_000,
): Promise<TokenStatus> {
  try {
    const status = (await inspect(redis, scriptKeys(keys), [windowMs])) as TokenStatus;
    if (status.refusal === undefined) return status;
    const { until } = status.refusal;
    const code = codeOf(status.refusal.code);
    return { ...status, refusal: { hold: holdOf(code), code, until } };
  } catch (error) {
    throw redisError(error);
  }
}
