import type { DeliveryPolicy } from '../../../../src/contracts/outcome.ts';
import type { IntentVerdict } from '../../../../src/fleet/job-history.ts';
import type { NoticeView } from '../../../../src/notices/notice-state.ts';
import type { EndedState } from '../../../../src/notices/ended.ts';
import { endOf } from '../../../../workers/send/disposition.ts';
import { earlierOutcome, knownAfter } from '../../../../workers/send/notice-intent.ts';
import type { SendAnswer } from '../../../../src/service/send-call.ts';

/*
 * The life of one single notice as a state machine without clocks: its job in Redis, two workers and the
 * service. The decisions are those of the code; the steps in Redis are written here once more, and
 * notice-model.fleet.test.ts compares them with the real ones after every move.
 *
 * The job: none -> wait or delayed (added) -> wait (due) -> active (fetched, locked by a worker) -> completed (accepted),
 * none (it has an entry), delayed (another attempt follows), or wait (requeued). active -> wait: its lock ended, and it
 * stalled. wait, delayed -> none, with an entry: cancelled. none -> wait, without the entry: redriven or resent.
 * completed -> none: removed by age. Its entry: written by a run at its end, changed by a decision, removed by age.
 *
 * A run of the job by a worker:
 *
 * - ready: right before the request.
 * - asking: its request is under way. ready -> asking: the intent, or the count of what is sent again, is recorded.
 * - ending: what it ends with is known; its entry is written, and BullMQ has not moved the job. asking -> ending: answered. ready -> ending: no
 *   request may be made.
 * - none. ending -> none: the end is recorded, or lost where another run has begun. any -> none: killed.
 */

/** Attempts of a notice. */
export const ATTEMPTS = 3;
/** UNKNOWN_RESENDS */
export const RESENDS = 1;

/** What the service does with a request, and what its sender learns. */
export type Answer =
  'accepted' | 'accepted, lost' | 'lost' | 'rejected' | 'busy' | 'no credit' | 'aborted';

const WHOLE = { requests: 1, durationMs: 1, refused: [], body: 'json' } as const;

/** The answers as the client reports them. */
export const ANSWERS: Readonly<Record<Answer, SendAnswer>> = {
  accepted: { ...WHOLE, stage: 'answered', status: 200 },
  'accepted, lost': { ...WHOLE, stage: 'sent' },
  lost: { ...WHOLE, stage: 'sent' },
  rejected: { ...WHOLE, stage: 'answered', status: 400, code: 'BAD_CONTACT' },
  busy: { ...WHOLE, stage: 'answered', status: 408 },
  'no credit': { ...WHOLE, stage: 'answered', status: 402 },
  aborted: { ...WHOLE, stage: 'not-sent', failure: 'aborted' },
};

/** A step of a worker, of the network, of time or of a person. */
export type Move =
  | { readonly kind: 'add again' | 'due' | 'stall' | 'expire' | 'remove' }
  | { readonly kind: 'cancel' | 'redrive' | 'accept' | 'discard' | 'resend' }
  | { readonly kind: 'fetch' | 'requeue' | 'answer' | 'kill'; readonly worker: Worker }
  /** Its lock ends while it lives: the process was stopped, or Redis was away. */
  | { readonly kind: 'lose lock'; readonly worker: Worker }
  | { readonly kind: 'ask'; readonly worker: Worker; readonly answer: Answer }
  /** `refused`: Redis refuses the write meanwhile. `twice`: its reply is lost, and the command is repeated. */
  | { readonly kind: 'refused'; readonly worker: Worker }
  | { readonly kind: 'record'; readonly worker: Worker; readonly twice: boolean };

/** The number of a worker. */
export type Worker = 0 | 1;

/** What a run ends with. */
export type RunEnd =
  | { readonly kind: 'completed'; readonly result: EndedState | 'ended' }
  | { readonly kind: 'retry' | 'delayed' | 'requeued' };

/** A run of the job by a worker. */
export interface Run {
  readonly phase: 'ready' | 'asking' | 'ending';
  readonly attempts: number;
  /** Attempts before it that ended unknown, by the history of the job. */
  readonly unknown: number;
  readonly stalls: number;
  readonly owned: boolean;
  readonly verdict?: IntentVerdict;
  readonly counted?: true;
  readonly answer?: Answer;
  readonly end?: RunEnd;
  readonly refused?: true;
}

/** Nothing goes wrong. */
export const NO_TROUBLES = {
  kills: 0,
  losses: 0,
  refusals: 0,
  repeats: 0,
  returns: 0,
  cancels: 0,
  expiries: 0,
  redrives: 0,
  removals: 0,
};

/** How often each kind of trouble may still happen. */
export type Troubles = Readonly<Record<keyof typeof NO_TROUBLES, number>>;

/** Everything there is. */
export interface World {
  readonly delivery: DeliveryPolicy;
  readonly place: 'none' | 'wait' | 'delayed' | 'active' | 'completed';
  /** What the result says was possibly sent. */
  readonly resultSent?: number | undefined;
  readonly attempts: number;
  /** Attempts that ended unknown, by the history of the job. */
  readonly unknown: number;
  readonly stalls: number;
  readonly lock?: Worker | undefined;
  /** Who has begun its last run. */
  readonly last?: Worker | undefined;
  /** The open intent: whose, and whether its request was accepted. */
  readonly intent?: { readonly of: number; readonly accepted: boolean } | undefined;
  /** The record of its end. */
  readonly ended?: Ended | undefined;
  /** Possibly sent before it was sent again. */
  readonly earlier: number;
  /** The account's count of what was possibly sent twice. */
  readonly twice: number;
  readonly late: boolean;
  readonly runs: readonly [Run | undefined, Run | undefined];
  readonly left: Troubles;
  /** What no part of the program knows. Since it was added or sent again by a person: */
  readonly accepted: number;
  readonly ends: number;
  /** Before that. */
  readonly acceptedBefore: number;
  readonly broken: readonly Law[];
}

/** The record of an end. */
export interface Ended {
  readonly state: EndedState;
  readonly attempts: number;
  readonly possiblySent: number;
  /** A person decided. */
  readonly decided?: true;
}

/** Laws that hold after every move; `stuck` is judged by {@link endOf}. */
export type Law =
  | 'accepted twice and not counted'
  | 'ended twice'
  | 'sent after it was cancelled'
  | 'at-most-once, and sent again'
  | 'sent too often'
  | 'rejected although it was accepted'
  | 'accepted although it was not'
  | 'stuck';

/** The decisions and steps of the code that a test may replace by wrong ones. */
export interface Rules {
  readonly knownAfter: typeof knownAfter;
  readonly endOf: typeof endOf;
  readonly earlierOutcome: typeof earlierOutcome;
  /** Whether what is sent again is counted first. */
  readonly countsAgain: boolean;
  /** Whether a job is moved only by the worker that has its lock. */
  readonly checksLock: boolean;
  /** Whether an add is known for a while after the job is gone. */
  readonly knowsAdds: boolean;
  /** Whether cancelling looks for an earlier attempt. */
  readonly cancelsUnsentOnly: boolean;
  /** Whether cancelling leaves a job alone that a worker has. */
  readonly cancelsIdleOnly: boolean;
  /** Whether stalled jobs go back to the queue. */
  readonly findsStalled: boolean;
  /** Whether a later run looks whether the end is recorded. */
  readonly knowsEnds: boolean;
}

/** As the code has them. */
export const RULES: Rules = {
  knownAfter,
  endOf,
  earlierOutcome,
  countsAgain: true,
  checksLock: true,
  knowsAdds: true,
  cancelsUnsentOnly: true,
  cancelsIdleOnly: true,
  findsStalled: true,
  knowsEnds: true,
};

/** A notice that was just added. */
export function begin(delivery: DeliveryPolicy, delayed: boolean, left: Troubles): World {
  return {
    ...ADDED,
    delivery,
    place: delayed ? 'delayed' : 'wait',
    runs: [undefined, undefined],
    left,
    acceptedBefore: 0,
    twice: 0,
    late: false,
    broken: [],
  };
}

/** A job that was not run yet. */
export const ADDED = {
  attempts: 0,
  unknown: 0,
  stalls: 0,
  earlier: 0,
  accepted: 0,
  ends: 0,
} as const;

/** What a person sees of the notice. */
export function viewOf(world: World): Pick<NoticeView, 'state' | 'attempts' | 'possiblySent'> {
  const { place, ended, attempts, earlier } = world;
  if (ended !== undefined) {
    const { state, possiblySent } = ended;
    return { state, attempts: ended.attempts, possiblySent };
  }
  switch (place) {
    case 'none':
      return { state: 'not-kept', attempts: 0, possiblySent: 0 };
    case 'completed':
      return { state: 'accepted', attempts, possiblySent: world.resultSent ?? 0 };
    case 'active':
    case 'wait':
    case 'delayed': {
      const state = place === 'active' ? 'sending' : 'pending';
      return { state, attempts, possiblySent: possiblySentNow(world) + earlier };
    }
  }
}

/** How many attempts of this life of the notice the service may have accepted; it has not ended. */
export function possiblySentNow({ unknown, stalls, intent, delivery }: World): number {
  const own = unknown + (delivery === 'at-most-once' ? 0 : stalls);
  return Math.max(own, intent === undefined ? 0 : 1);
}

const WORKERS: readonly Worker[] = [0, 1];
/** Whether the job has ended. */
export const isOver = ({ place }: World) => place === 'completed' || place === 'none';

/** The moves that can happen. @param answers of the service */
export function movesOf(world: World, answers: readonly Answer[]): Move[] {
  const { place, left, runs, lock } = world;
  const moves: Move[] = [];
  const may = (is: boolean, ...some: readonly Move[]) => {
    if (is) moves.push(...some);
  };
  may(left.repeats > 0, { kind: 'add again' });
  may(place === 'delayed', { kind: 'due' });
  may(place === 'active' && lock === undefined, { kind: 'stall' });
  may(left.expiries > 0 && !world.late, { kind: 'expire' });
  may(left.cancels > 0 && place !== 'none', { kind: 'cancel' });
  const state = world.ended?.state;
  may(left.removals > 0 && (place === 'completed' || (place === 'none' && state !== undefined)), {
    kind: 'remove',
  });
  if (left.redrives > 0) {
    may(state === 'rejected' || state === 'unknown', { kind: 'redrive' });
    may(state === 'unknown', { kind: 'accept' }, { kind: 'discard' }, { kind: 'resend' });
  }
  for (const worker of WORKERS) {
    const run = runs[worker];
    may(place === 'wait' && run === undefined, { kind: 'fetch', worker });
    if (run === undefined) continue;
    const { phase } = run;
    may(left.kills > 0, { kind: 'kill', worker });
    may(left.losses > 0 && lock === worker, { kind: 'lose lock', worker });
    if (phase === 'ready') {
      may(left.returns > 0, { kind: 'requeue', worker });
      moves.push(...answers.map((answer) => ({ kind: 'ask', worker, answer }) as const));
    }
    may(phase === 'asking', { kind: 'answer', worker });
    if (phase === 'ending') {
      may(left.refusals > 0 && run.refused === undefined, { kind: 'refused', worker });
      moves.push({ kind: 'record', worker, twice: false });
      may(left.repeats > 0, { kind: 'record', worker, twice: true });
    }
  }
  return moves;
}
