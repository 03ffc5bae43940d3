import {
  QUIET_MS,
  ROW,
  THROTTLED_CONTRADICTIONS,
} from '../../../../src/fleet/hold/evidence-scripts.ts';
import type { Meeting } from '../../../../src/fleet/hold/passage.ts';

/** What a job met of one kind. */
interface History {
  /** Number of the last such meeting. */
  readonly at: number;
  /** Contradictions so far. */
  readonly n: number;
  readonly token: string;
}

/** What is known of a job from its meetings. */
export interface Witness {
  /** Refusals and pages. */
  readonly refusals?: History | undefined;
  /** All else, which others may meet, too. */
  readonly troubles?: History | undefined;
  /** The counter of proofs at the last meeting. */
  readonly proof: number;
  /** It counts in the row, if that began after the last proof. */
  readonly refused: boolean;
  readonly unknown: boolean;
}

/** The record of evidence as the script finds it, for one job. */
export interface EvidenceState {
  readonly proof: number;
  /** Meetings so far, and the last of them that an acceptance came after. */
  readonly meetings: number;
  readonly provenUpTo: number;
  readonly provenToken: string;
  /** How long an acceptance has been asked for; undefined: none is. */
  readonly askedMs?: number | undefined;
  readonly refusedRow: number;
  readonly unknownRow: number;
  readonly witness?: Witness | undefined;
  readonly held: boolean;
}

/** The verdict, and what the script leaves behind. */
export interface Decision {
  readonly kind: 'held' | 'counted' | 'own';
  readonly disproved: boolean;
  /** The job had met nothing before. */
  readonly first: boolean;
  readonly refusedRow: number;
  readonly unknownRow: number;
  /** Whether an acceptance is asked for. */
  readonly asks: boolean;
  readonly witness: Witness | undefined;
}

type Met = Pick<Meeting, 'class' | 'hold' | 'token' | 'ownAfter'>;

/** The decision of the meeting script without Redis, for the model. */
export function decideMeet(state: EvidenceState, meeting: Met): Decision {
  const { proof, meetings, provenUpTo, provenToken, askedMs, refusedRow, unknownRow, held } = state;
  const { class: as, hold, token, ownAfter = 0 } = meeting;
  const met = knownOf(state);
  const kept = as === 'refusal' || as === 'page' ? 'refusals' : 'troubles';
  const before = met?.[kept];
  const disproved =
    before !== undefined &&
    before.at <= provenUpTo &&
    (as !== 'refusal' || (before.token === token && provenToken === token));
  const inRow = (row: 'refused' | 'unknown') => met?.proof === proof && met[row];
  const n = (before?.n ?? 0) + (disproved ? 1 : 0);
  const witness: Witness = {
    ...met,
    [kept]: { at: meetings + 1, n, token: as === 'refusal' ? token : '' },
    proof,
    refused: inRow('refused') ?? false,
    unknown: inRow('unknown') ?? false,
  };
  const least = hold === 'throttled' ? THROTTLED_CONTRADICTIONS : 1;
  const asks = askedMs !== undefined;
  const same = { disproved, first: met === undefined, refusedRow, unknownRow, asks, witness };
  switch (as) {
    case 'always':
      return { ...same, kind: 'held', disproved: false, witness: state.witness };
    case 'stated':
      return { ...same, kind: disproved && n >= least ? 'counted' : 'held', asks: true };
    case 'unknown': {
      const row = unknownRow + (witness.unknown ? 0 : 1);
      return {
        ...same,
        kind: held || row >= ROW ? 'held' : 'counted',
        unknownRow: row,
        asks: true,
        witness: { ...witness, unknown: true },
      };
    }
    case 'page':
    case 'refusal': {
      if (disproved) {
        const isOwn = ownAfter > 0 && n >= ownAfter;
        return { ...same, kind: isOwn ? 'own' : 'counted', asks: true };
      }
      const row = refusedRow + (witness.refused ? 0 : 1);
      const isQuiet = askedMs !== undefined && askedMs >= QUIET_MS;
      return {
        ...same,
        kind: held || (row >= ROW && isQuiet) ? 'held' : 'counted',
        refusedRow: row,
        asks: true,
        witness: { ...witness, refused: true },
      };
    }
  }
}

/** A witness of a later meeting than there were is from before a failover. */
function knownOf({ witness, meetings }: EvidenceState): Witness | undefined {
  const last = Math.max(witness?.refusals?.at ?? 0, witness?.troubles?.at ?? 0);
  return last <= meetings ? witness : undefined;
}
