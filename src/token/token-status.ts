import { z } from 'zod';
import { count, named, time, type Answer } from '../contracts/answer.ts';
import {
  ERROR_CODES,
  errorCodes,
  NoticeQueueError,
  type ErrorCode,
  type TokenRefusedError,
} from '../contracts/errors.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisErrorFields } from '../redis/failure.ts';
import type { TokenKeys } from '../redis/keys.ts';
import { tokenStep } from './token-scripts.ts';

/** The state of the shared token for status; never its value. Times are Redis time. */
export const tokenAnswer = named(
  'Token',
  z.object({
    token: z
      .object({
        id: z.string().describe('a hash that identifies the token, not the token itself'),
        issuedAt: time,
        ageMs: z.number(),
        expiresAt: time.exactOptional(),
        fence: z.int(),
        issuer: z.string(),
      })
      .exactOptional(),
    refusal: z
      .object({
        hold: z.enum(['credentials', 'token-contested', 'token-unavailable']),
        code: z.enum(errorCodes),
        until: z.number(),
      })
      .exactOptional(),
    issuing: z.boolean(),
    issuances: count.describe('within ten minutes'),
  }),
);

export type TokenStatus = Answer<z.output<typeof tokenAnswer>>;

/** An event for logs and metrics. No event contains a token; times are milliseconds. */
export type TokenEvent =
  /** This process issued a token. `stored` is false when a newer one was stored meanwhile. */
  | {
      readonly kind: 'issued';
      readonly id: string;
      readonly fence: number;
      readonly ms: number;
      readonly early: boolean;
      readonly stored: boolean;
    }
  /** This process's issuance failed; it, or the whole fleet, issues again after `retryInMs`. */
  | {
      readonly kind: 'refused';
      readonly hold: TokenRefusedError['hold'];
      readonly code: ErrorCode;
      readonly retryInMs: number;
    }
  /** The budget is spent: no issuance for `retryInMs`. */
  | { readonly kind: 'contested'; readonly retryInMs: number }
  /** An early renewal failed; the current token stays in use. */
  | { readonly kind: 'early-renewal-failed'; readonly code: ErrorCode };

/**
 * Reads the state of one shared token in one round trip; needs no key to decrypt the token.
 *
 * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
 */
export async function readTokenStatus(
  redis: RedisClient,
  keys: TokenKeys,
  budgetWindowMs = 600_000,
): Promise<TokenStatus> {
  const { wasRefused: _, ...status } = await inspect(redis, keys, budgetWindowMs);
  if (status.refusal === undefined) return status;
  const code = codeOf(status.refusal.code);
  return { ...status, refusal: { ...status.refusal, hold: holdOf(code), code } };
}

/**
 * Whether an issuance with this key pair was refused in the last ten minutes, and none succeeded since.
 *
 * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
 */
export async function wasRefused(redis: RedisClient, keys: TokenKeys): Promise<boolean> {
  return (await inspect(redis, keys, 0)).wasRefused;
}

async function inspect(redis: RedisClient, keys: TokenKeys, budgetWindowMs: number) {
  try {
    const reply = await tokenStep(redis, keys, 'inspect', { budgetWindowMs });
    return reply as TokenStatus & { readonly wasRefused: boolean };
  } catch (error) {
    throw redisError(error);
  }
}

/** Codes of an issuance that was refused for the caller (service-api, Errors; a bare 401 or 403). */
const CREDENTIALS: ReadonlySet<ErrorCode> = new Set([
  'INVALID_ACCESS_KEY',
  'ACCESS_KEY_NOT_APPROVED',
  'IP_NOT_ALLOWED',
  'SERVICE_REFUSED',
]);

export function holdOf(code: ErrorCode): TokenRefusedError['hold'] {
  if (code === 'TOKEN_CONTESTED') return 'token-contested';
  return CREDENTIALS.has(code) ? 'credentials' : 'token-unavailable';
}

/** A stored code; an unknown one counts as an endpoint that failed. */
export function codeOf(text: string): ErrorCode {
  const isKnown = (code: string): code is ErrorCode => Object.hasOwn(ERROR_CODES, code);
  return isKnown(text) ? text : 'TOKEN_UNAVAILABLE';
}

/** The error for a Redis that failed: with the error code, without the command. */
export function redisError(error: unknown): NoticeQueueError {
  const { code, missing } = redisErrorFields(error);
  const reason = missing === undefined ? '' : `: the user lacks ${missing}`;
  return new NoticeQueueError(
    'TOKEN_UNAVAILABLE',
    `Redis failed while handling the shared token (${code}${reason}).`,
  );
}
