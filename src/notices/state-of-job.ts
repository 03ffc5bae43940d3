import type { ClosedHours } from '../contracts/send-windows.ts';
import type { NoticeState, PENDING_REASONS, PendingReason } from './notice-state.ts';
import type { JobPlace } from './read-job.ts';

/** What decides the state of a job. */
export interface StateFacts {
  readonly place: JobPlace;
  /** The outcome in the result of a completed job. */
  readonly outcome?: string | undefined;
  /** It is in the list of unknown outcomes, and no operator has decided to send it again. */
  readonly listedUnknown: boolean;
  /** The service may have accepted an attempt; of a notice that is settled in part, for the contacts that are left. */
  readonly possiblySent: boolean;
  /** The account is held. */
  readonly held: boolean;
  /** The next permit of the rate limit is in the future. */
  readonly limited: boolean;
}

/** A state, and for a pending job why it waits. */
export interface DecidedState {
  readonly state: NoticeState;
  readonly reason?: Exclude<(typeof PENDING_REASONS)[number], 'sending-hours'>;
}

/**
 * The state of a job; the first row that applies:
 *
 * | place | | state |
 * |---|---|---|
 * | none | | not-kept |
 * | completed | its outcome is expired or cancelled | that |
 * | completed | | accepted |
 * | any other | listed as unknown | unknown |
 * | failed | possibly sent | unknown |
 * | failed | | rejected |
 * | active | | sending |
 * | delayed | | pending, delayed |
 * | wait, prioritized | the account is held | pending, held |
 * | wait, prioritized | the rate limit is used up | pending, rate-limited |
 * | wait, prioritized | | pending, waiting |
 */
export function stateOfJob(facts: StateFacts): DecidedState {
  const { place, outcome, listedUnknown, held, limited } = facts;
  if (place === 'none') return { state: 'not-kept' };
  if (place === 'completed') {
    return { state: outcome === 'expired' || outcome === 'cancelled' ? outcome : 'accepted' };
  }
  if (listedUnknown) return { state: 'unknown' };
  switch (place) {
    case 'failed':
      return { state: facts.possiblySent ? 'unknown' : 'rejected' };
    case 'active':
      return { state: 'sending' };
    case 'delayed':
      return { state: 'pending', reason: 'delayed' };
    case 'prioritized':
    case 'wait':
      if (held) return { state: 'pending', reason: 'held' };
      return { state: 'pending', reason: limited ? 'rate-limited' : 'waiting' };
  }
}

/** What waits for its sending hours is due then by the clock of a worker. */
const CLOCKS_MS = 1_000;

/**
 * Why a job waits.
 *
 * @param due when a delayed job is due
 * @param hold of the account
 * @param closed the sending hours of its template, where they are closed
 */
export function pendingOf(
  { state, reason }: DecidedState,
  due: number,
  hold: PendingReason | undefined,
  closed: ClosedHours | undefined,
): PendingReason | undefined {
  if (state !== 'pending' || reason === undefined) return undefined;
  if (reason === 'held') return hold;
  if (closed !== undefined && due <= closed.opensAt + CLOCKS_MS)
    return { reason: 'sending-hours', until: closed.opensAt, opens: closed.words };
  return reason === 'delayed' ? { reason, until: due } : { reason };
}
