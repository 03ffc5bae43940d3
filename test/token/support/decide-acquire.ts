import type { Config } from '../../../src/config/config.ts';
import type { TokenWant } from '../../../src/token/token-record.ts';
import type { AcquireDecision } from '../../../src/token/token-scripts.ts';

/** A ttl as Redis gives it: what is left of it, or none at all. */
export type Ttl = number | 'none';

/** The token record as the acquire script finds it; times are relative to its `now`. */
export interface RecordState {
  readonly refusal?: {
    readonly code: string;
    readonly ageMs: number;
    readonly restMs: number;
  };
  /** How long ago a person lifted a hold; below 0 it is ahead of the clock. */
  readonly liftedMsAgo?: number;
  readonly token?: {
    readonly id: string;
    readonly ageMs: number;
    readonly restMs?: number;
    readonly fence: number;
    readonly earlyInMs?: number;
    /** A field that is missing or no number: the token counts as absent. */
    readonly garbled?: 'sealed' | 'issuedAt' | 'fence' | 'expiresAt';
  };
  readonly lock?: Ttl;
  readonly fence?: number;
  /** Ages of the issuances on record. */
  readonly issued?: readonly number[];
  /** A refusal for which a token was issued, and how long it is still remembered. */
  readonly tried?: { readonly refusal: string; readonly restMs: number };
}

/** What the script decides, without what it only passes on. */
export type Verdict =
  | { readonly kind: 'take' | 'young' | 'keep'; readonly id: string }
  | Exclude<AcquireDecision, { readonly stored: unknown }>;

type Limits = Pick<
  Config['token'],
  'lockTtlMs' | 'budget' | 'budgetWindowMs' | 'refusedMinMs' | 'refusedMaxMs'
>;

/** The decision of the acquire script without Redis, for the model. */
export function decideAcquire(state: RecordState, want: TokenWant, limits: Limits): Verdict {
  const { refusal, token, lock, tried, liftedMsAgo = Infinity } = state;
  if (
    refusal !== undefined &&
    refusal.restMs > 0 &&
    refusal.restMs <= limits.refusedMaxMs &&
    (refusal.ageMs < liftedMsAgo || liftedMsAgo < 0)
  ) {
    return { kind: 'refused', code: refusal.code, restMs: refusal.restMs, fresh: false };
  }

  const whole = token !== undefined && token.garbled === undefined;
  const alive = whole && (token.restMs === undefined || token.restMs > 0);
  if (alive && token.id !== want.refused) return { kind: 'take', id: token.id };
  const isTried = tried?.refusal === want.refusal && tried.restMs > 0 && tried.restMs <= 600_000;
  if (alive && want.refusal !== '' && isTried) return { kind: 'keep', id: token.id };
  if (alive && token.ageMs >= 0 && token.ageMs < want.graceMs) {
    return { kind: 'young', id: token.id };
  }
  if (want.early && (token?.earlyInMs ?? 0) > 0) return { kind: 'wait', restMs: 0 };
  if (lock !== undefined && lock !== 'none' && lock <= limits.lockTtlMs) {
    return { kind: 'wait', restMs: lock };
  }

  const spent = (state.issued ?? []).filter((age) => age >= 0 && age < limits.budgetWindowMs);
  if (spent.length >= limits.budget) {
    if (want.early) return { kind: 'wait', restMs: 0 };
    const oldestThatCounts = spent.sort((a, b) => a - b)[limits.budget - 1] ?? 0;
    const restMs = Math.min(limits.refusedMaxMs, limits.budgetWindowMs - oldestThatCounts);
    return { kind: 'refused', code: 'TOKEN_CONTESTED', restMs, fresh: true };
  }

  const storedFence = token === undefined || token.garbled === 'fence' ? 0 : token.fence;
  return { kind: 'lock', fence: Math.max(state.fence ?? 0, storedFence) + 1 };
}

/**
 * What was decided, said as the expected verdict says it: a time that is short of the expected one
 * by the moment between writing the state and asking counts as the same.
 */
export function asVerdict(decision: AcquireDecision, expected: Verdict): Verdict {
  const wanted = 'restMs' in expected ? expected.restMs : 0;
  const near = (ms: number) => (ms <= wanted && ms > wanted - 1500 ? wanted : ms);
  switch (decision.kind) {
    case 'take':
    case 'young':
    case 'keep':
      return { kind: decision.kind, id: decision.stored.id };
    case 'refused': {
      return { ...decision, restMs: near(decision.restMs) };
    }
    case 'wait':
      return { kind: 'wait', restMs: near(decision.restMs) };
    case 'lock':
      return decision;
  }
}
