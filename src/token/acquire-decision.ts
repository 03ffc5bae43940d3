import { readRefusal, type TokenRefusal } from './token-refusal.ts';

/** Why a token is asked of the slot. */
export type TokenWant =
  /** For a send: any token but the one refused (empty: any). */
  | { readonly why: 'use'; readonly refused: string; readonly graceMs: number }
  /** The stored one cannot be opened here: any token but that. */
  | { readonly why: 'unreadable'; readonly refused: string }
  /** The one in use nears its end: its successor. */
  | { readonly why: 'early'; readonly refused: string };

/** A token as it stands in the slot. Times are relative, so that no two clocks are compared. */
export interface StoredToken {
  readonly id: string;
  readonly sealed: string;
  readonly fence: number;
  readonly ageMs: number;
  /** Life it has left; undefined where the service does not tell. */
  readonly restMs: number | undefined;
  /** A call with it was accepted once. */
  readonly proven: boolean;
}

/** What the slot decides about a want, in one step with taking the lock. */
export type AcquireDecision =
  /** Use the stored one; nothing is issued. */
  | { readonly kind: 'take'; readonly stored: StoredToken }
  /** The stored one is the refused one, but young: try it once more; nothing is issued. */
  | { readonly kind: 'young'; readonly stored: StoredToken }
  /** No issuance now; nothing is asked of the service. */
  | { readonly kind: 'refused'; readonly refusal: TokenRefusal; readonly fresh: boolean }
  /** Somebody issues; its lock lasts this long at most. */
  | { readonly kind: 'wait'; readonly restMs: number }
  /** Not yet time for an early renewal. */
  | { readonly kind: 'later' }
  /** The lock is ours, and with it this fence: issue. */
  | { readonly kind: 'lock'; readonly fence: number };

/**
 * Reads the reply of the acquire script.
 *
 * @throws TypeError when it is not one, which only a foreign script under our hash could bring
 */
export function parseDecision(reply: unknown): AcquireDecision {
  if (!Array.isArray(reply)) throw new TypeError('acquire: the reply is not a list');
  const [kind, ...fields] = reply.map(String);
  const [first = '', second = '', ...rest] = fields;
  switch (kind) {
    case 'take':
    case 'young': {
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
