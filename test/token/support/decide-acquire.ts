import { concernsToken, mayBeReplaced, type Refusal } from '../../../src/contracts/token.ts';
import type { AcquireDecision, TokenWant } from '../../../src/token/acquire-decision.ts';
import type { TokenSettings } from '../../../src/token/token-settings.ts';

/** A ttl as Redis gives it: what is left of it, or none at all. */
export type Ttl = number | 'none';

/** The token record as the acquire script finds it; times are relative to its `now`. */
export interface SlotState {
  readonly refusal?: { readonly kind: string; readonly code: string; readonly ttl: Ttl };
  readonly token?: {
    readonly id: string;
    readonly ageMs: number;
    readonly restMs?: number;
    readonly fence: number;
    readonly proven?: boolean;
    readonly unproven?: number;
    readonly contested?: boolean;
    readonly earlyInMs?: number;
    /** A field that is missing or no number: the token counts as absent. */
    readonly garbled?: 'sealed' | 'issuedAt' | 'fence' | 'expiresAt';
  };
  readonly lock?: Ttl;
  readonly fence?: number;
  /** Ages of the issuances on record. */
  readonly issued?: readonly number[];
  /** Ages of the early deaths on record. */
  readonly deaths?: readonly number[];
  /** A refusal that a new token did not end. */
  readonly uncured?: {
    readonly status: 401 | 403;
    readonly code: string;
    readonly ageMs: number;
    readonly distanceMs: number;
  };
  /** An acceptance is asked for since then (below 0: none is), by so many different notices. */
  readonly evidence?: { readonly askedMsAgo: number; readonly row: number };
}

/** What the script decides, without what it only passes on. */
export type Verdict =
  | { readonly kind: 'take' | 'young' | 'keep'; readonly id: string }
  | {
      readonly kind: 'refused';
      readonly code: string;
      readonly restMs: number;
      readonly fresh: boolean;
    }
  | { readonly kind: 'wait'; readonly restMs: number }
  | { readonly kind: 'later' }
  | { readonly kind: 'lock'; readonly fence: number };

type Limits = Pick<
  TokenSettings,
  'lockTtlMs' | 'budget' | 'budgetWindowMs' | 'refusedMinMs' | 'refusedMaxMs'
>;

/** The decision of the acquire script without Redis, for the model. */
export function decideAcquire(state: SlotState, want: TokenWant, limits: Limits): Verdict {
  const { refusal, token, lock } = state;
  if (refusal !== undefined && isLive(refusal.ttl, limits.refusedMaxMs)) {
    return { kind: 'refused', code: refusal.code, restMs: Number(refusal.ttl), fresh: false };
  }

  const whole = token !== undefined && token.garbled === undefined;
  const alive = whole && (token.restMs === undefined || token.restMs > 0);
  if (alive && token.id !== want.refused) return { kind: 'take', id: token.id };
  const isRefusal = alive && want.why === 'use' && want.refusal !== undefined;
  const isKnown = isRefusal && isRemembered(state, want.refusal);
  if (isKnown && !isTriedAgain(state, token)) return { kind: 'keep', id: token.id };
  if (alive && want.why === 'use' && token.ageMs >= 0 && token.ageMs < want.graceMs) {
    return { kind: 'young', id: token.id };
  }
  const deaths = (state.deaths ?? []).filter((age) => age >= 0 && age < 600_000).length;
  const isDeath = !isKnown && diesEarly(state, want) && token?.contested !== true;
  const isWar = isDeath && deaths >= 3;
  if (isWar && !isOfToken(want) && !isOverdue(state.evidence))
    return { kind: 'keep', id: token?.id ?? '' };
  if (want.why === 'early' && (token?.earlyInMs ?? 0) > 0) return { kind: 'later' };
  if (lock !== undefined && isLive(lock, limits.lockTtlMs)) {
    return { kind: 'wait', restMs: Number(lock) };
  }

  const contested = (restMs: number): Verdict => ({
    kind: 'refused',
    code: 'TOKEN_CONTESTED',
    restMs,
    fresh: true,
  });
  const unproven = token?.unproven ?? 0;
  const neverWorked = whole && token.id === want.refused && token.proven !== true && unproven >= 1;
  if (want.why === 'use' && neverWorked && token.contested !== true) {
    return contested(Math.min(limits.refusedMaxMs, limits.refusedMinMs * 2 ** (unproven - 1)));
  }

  if (isWar) {
    return contested(Math.min(limits.refusedMaxMs, limits.refusedMinMs * 2 ** (deaths - 3)));
  }

  const spent = (state.issued ?? []).filter((age) => age >= 0 && age < limits.budgetWindowMs);
  if (spent.length >= limits.budget) {
    if (want.why === 'early') return { kind: 'later' };
    const oldestThatCounts = spent.sort((a, b) => a - b)[limits.budget - 1] ?? 0;
    return contested(Math.min(limits.refusedMaxMs, limits.budgetWindowMs - oldestThatCounts));
  }

  const storedFence = token === undefined || token.garbled === 'fence' ? 0 : token.fence;
  return { kind: 'lock', fence: Math.max(state.fence ?? 0, storedFence) + 1 };
}

/** A ttl that is missing or longer than anybody sets stems from a clock that went back. */
function isLive(ttl: Ttl, longest: number): boolean {
  return ttl !== 'none' && ttl <= longest;
}

/** Whether a token that worked is refused as a replaced one would be, long before its end. */
function diesEarly({ token }: SlotState, want: TokenWant): boolean {
  if (token === undefined || token.garbled !== undefined || token.id !== want.refused) return false;
  if (want.why !== 'use' || want.refusal === undefined || !mayBeReplaced(want.refusal))
    return false;
  const { ageMs, restMs = Infinity, proven } = token;
  return proven === true && ageMs >= 0 && ageMs < Math.min(600_000, (ageMs + restMs) / 2);
}

/** Whether it is known that a new token does not end such a refusal. */
function isRemembered({ uncured }: SlotState, { status, code }: Refusal): boolean {
  if (uncured?.status !== status || uncured.code !== code) return false;
  const { ageMs, distanceMs } = uncured;
  return ageMs >= 0 && ageMs < Math.max(600_000, 2 * distanceMs);
}

/** Whether a renewal is tried all the same. */
function isTriedAgain(
  { uncured, evidence }: SlotState,
  { proven }: { readonly proven?: boolean },
): boolean {
  const { ageMs, distanceMs } = uncured ?? { ageMs: 0, distanceMs: 0 };
  const all = proven === true && (evidence?.row ?? 0) >= 3 && ageMs >= 10_000;
  return isOverdue(evidence) && (all || ageMs >= distanceMs);
}

/** Whether an acceptance has been asked for, and none has come for two seconds. */
function isOverdue(evidence: SlotState['evidence']): boolean {
  return (evidence?.askedMsAgo ?? -1) > 2_000;
}

/** Whether the code of a refusal states that the token is invalid. */
const isOfToken = (want: TokenWant) => want.why === 'use' && concernsToken(want.refusal?.code);

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
      const { refusal, fresh } = decision;
      return { kind: 'refused', code: refusal.code, restMs: near(refusal.restMs), fresh };
    }
    case 'wait':
      return { kind: 'wait', restMs: near(decision.restMs) };
    case 'later':
    case 'lock':
      return decision;
  }
}
