import type { Refusal, Token } from '../contracts/token.ts';
import { readRefusal, type TokenRefusal } from './token-refusal.ts';

/** Why a token is requested. */
export type TokenWant =
  /** For a send: any token but the one refused (empty: any). */
  | {
      readonly why: 'use';
      readonly refused: string;
      readonly graceMs: number;
      /** What it was refused with, where it is known. */
      readonly refusal?: Refusal;
    }
  /** The stored one cannot be decrypted here: any token but that. */
  | { readonly why: 'unreadable'; readonly refused: string }
  /** The token in use is about to expire: its successor. */
  | { readonly why: 'early'; readonly refused: string };

/** A token as it is stored in Redis. Times are relative, so that no two clocks are compared. */
export interface StoredToken {
  readonly id: string;
  readonly sealed: string;
  readonly fence: number;
  readonly ageMs: number;
  /** Its remaining life in milliseconds; undefined when the service does not report it. */
  readonly restMs: number | undefined;
  /** A call with it was accepted. */
  readonly proven: boolean;
}

/** The decision about a want; one script decides and takes the lock. */
export type AcquireDecision =
  /** Use the stored one; nothing is issued. */
  | { readonly kind: 'take'; readonly stored: StoredToken }
  /** The stored one is the refused one, but within the grace time: try it once more; nothing is issued. */
  | { readonly kind: 'young'; readonly stored: StoredToken }
  /** The stored one is the refused one, and another would be refused the same: nothing is issued. */
  | { readonly kind: 'keep'; readonly stored: StoredToken }
  /** No issuance now: a refusal is in effect; `fresh` when this call caused it. */
  | { readonly kind: 'refused'; readonly refusal: TokenRefusal; readonly fresh: boolean }
  /** Another process issues; its lock lasts at most `restMs`. */
  | { readonly kind: 'wait'; readonly restMs: number }
  /** Too early for an early renewal. */
  | { readonly kind: 'later' }
  /** The caller has the lock and this fence: issue. */
  | { readonly kind: 'lock'; readonly fence: number };

/**
 * Reads the reply of the acquire script.
 *
 * @throws TypeError when it is none: a bug
 */
export function parseDecision(reply: unknown): AcquireDecision {
  if (!Array.isArray(reply)) throw new TypeError('acquire: the reply is not a list');
  const [kind, ...fields] = reply.map(String);
  const [first = '', second = '', ...rest] = fields;
  switch (kind) {
    case 'take':
    case 'young':
    case 'keep': {
      const [fence, ageMs, restMs, proven] = rest.map(Number);
      const stored = {
        id: first,
        sealed: second,
        fence: fence ?? 0,
        ageMs: ageMs ?? 0,
        restMs: restMs === undefined || restMs < 0 ? undefined : restMs,
        proven: proven === 1,
      };
      return { kind, stored };
    }
    case 'refused':
      return {
        kind,
        refusal: readRefusal(first, second, Number(rest[0] ?? 0)),
        fresh: rest[1] === '1',
      };
    case 'wait':
      return { kind, restMs: Number(first) };
    case 'later':
      return { kind };
    case 'lock':
      return { kind, fence: Number(first) };
    default:
      throw new TypeError('acquire: the reply names no decision');
  }
}

/** A process's own copy of the token: every send uses it in steady state. */
export interface HeldToken {
  readonly token: Token;
  readonly fence: number;
  /** A call with it was accepted, and the record says so. */
  readonly proven: boolean;
  /** Monotonic time (performance.now) at which its life ends; Infinity when unknown. */
  readonly usableUntil: number;
  /** Its whole life in milliseconds, for the early renewal; Infinity when unknown. */
  readonly lifeMs: number;
  /** Monotonic time before this process asked to issue it; absent when another process issued it. */
  readonly askedAt?: number;
}

/** @param asOf monotonic time from before Redis was asked, so that the life is never overestimated */
export function holdStored(stored: StoredToken, token: Token, asOf: number): HeldToken {
  const restMs = stored.restMs ?? Infinity;
  return {
    token,
    fence: stored.fence,
    proven: stored.proven,
    usableUntil: asOf + restMs,
    lifeMs: Math.max(0, stored.ageMs) + restMs,
  };
}
