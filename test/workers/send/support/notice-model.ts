import type { Outcome } from '../../../../src/contracts/outcome.ts';
import type { IntentVerdict } from '../../../../src/fleet/job-history.ts';
import { decideOutcome } from '../../../../src/service/outcome-table.ts';
import type { NoticeIntent } from '../../../../workers/send/notice-intent.ts';
import {
  ADDED,
  ANSWERS,
  ATTEMPTS,
  RESENDS,
  NO_TROUBLES,
  isOver,
  movesOf,
  possiblySentNow,
  viewOf,
  type Answer,
  type Ended,
  type Law,
  type Move,
  type Rules,
  type Run,
  type RunEnd,
  type Troubles,
  type Worker,
  type World,
} from './notice-world.ts';

/** The world after a move, and which laws it broke. */
export function after(world: World, move: Move, rules: Rules): World {
  const next = step(world, move, rules);
  const broken = judge(world, next, move);
  return broken.length === 0 ? next : { ...next, broken: [...next.broken, ...broken] };
}

function step(world: World, move: Move, rules: Rules): World {
  switch (move.kind) {
    case 'add again': {
      const next = spend(world, 'repeats');
      if (world.place !== 'none' || rules.knowsAdds) return next;
      const acceptedBefore = world.acceptedBefore + world.accepted;
      return { ...next, ...ADDED, place: 'wait', ended: undefined, acceptedBefore };
    }
    case 'due':
      return { ...world, place: 'wait' };
    case 'stall':
      return rules.findsStalled ? { ...world, place: 'wait', stalls: world.stalls + 1 } : world;
    case 'expire':
      return { ...spend(world, 'expiries'), late: true };
    case 'cancel':
      return cancelled(spend(world, 'cancels'), rules);
    case 'remove':
      return { ...spend(world, 'removals'), place: 'none', ended: undefined };
    case 'accept':
    case 'discard': {
      const { attempts, possiblySent } = world.ended ?? fail();
      const state = move.kind === 'accept' ? 'accepted' : 'cancelled';
      const ended = { state, attempts, possiblySent, decided: true } as const;
      return { ...spend(world, 'redrives'), ended };
    }
    case 'redrive':
    case 'resend':
      return again(spend(world, 'redrives'));
    case 'fetch':
      return fetched(world, move.worker);
    case 'requeue':
      return asked(spend(world, 'returns'), move.worker, undefined, rules);
    case 'ask':
      return asked(world, move.worker, move.answer, rules);
    case 'answer':
      return answered(world, move.worker, rules);
    case 'kill':
      return freed(withoutRun(spend(world, 'kills'), move.worker), move.worker);
    case 'lose lock':
      return freed(withRun(spend(world, 'losses'), move.worker, { owned: false }), move.worker);
    case 'refused':
      return withRun(spend(world, 'refusals'), move.worker, { refused: true });
    case 'record':
      return recorded(move.twice ? spend(world, 'repeats') : world, move.worker, rules);
  }
}

const spend = (world: World, trouble: keyof Troubles): World => ({
  ...world,
  left: { ...world.left, [trouble]: world.left[trouble] - 1 },
});

function withRun(world: World, worker: Worker, change: Partial<Run>): World {
  const run = world.runs[worker];
  const next = run === undefined ? undefined : { ...run, ...change };
  return { ...world, runs: worker === 0 ? [next, world.runs[1]] : [world.runs[0], next] };
}

function withoutRun(world: World, worker: Worker): World {
  return { ...world, runs: worker === 0 ? [undefined, world.runs[1]] : [world.runs[0], undefined] };
}

const freed = (world: World, worker: Worker): World =>
  world.lock === worker ? { ...world, lock: undefined } : world;

function cancelled(world: World, rules: Rules): World {
  if (isOver(world) || world.ended !== undefined) return world;
  if (rules.cancelsIdleOnly && world.place === 'active') return world;
  if (rules.cancelsUnsentOnly && possiblySentNow(world) + world.earlier > 0) return world;
  const ended = { state: 'cancelled', attempts: world.attempts, possiblySent: 0 } as const;
  return { ...world, place: 'none', ended, intent: undefined, unknown: 0, ends: world.ends + 1 };
}

/** A person sends a failed notice again. While its job is there, it is left. */
function again(world: World): World {
  const { possiblySent } = world.ended ?? fail();
  if (world.place !== 'none') return world;
  return {
    ...world,
    ...ADDED,
    place: 'wait',
    ended: undefined,
    earlier: possiblySent,
    twice: world.twice + (possiblySent > 0 ? 1 : 0),
    acceptedBefore: world.acceptedBefore + world.accepted,
  };
}

function fetched(world: World, worker: Worker): World {
  const { attempts, unknown, stalls } = world;
  const run: Run = { phase: 'ready', attempts, unknown, stalls, owned: true };
  const others = world.runs[worker === 0 ? 1 : 0];
  const runs = worker === 0 ? ([run, others] as const) : ([others, run] as const);
  return { ...world, place: 'active', lock: worker, last: worker, runs };
}

/** The delivery policy of a run, as the code keeps it. */
function intentOf(
  { delivery, earlier }: World,
  { attempts, unknown, stalls, verdict }: Run,
): NoticeIntent {
  return {
    lastAttempt: attempts + 1 >= ATTEMPTS,
    possiblySent: delivery === 'at-most-once' ? 0 : unknown + stalls,
    before: { possiblySent: earlier },
    mostResends: RESENDS,
    verdict,
  } as NoticeIntent;
}

/** Identifies the attempt of a run: a nonce in the code. */
const nonceOf = (run: Run, worker: Worker): number => run.stalls * 100 + run.attempts * 2 + worker;

/** Opens the intent of an at-most-once notice. */
function intended(world: World, worker: Worker): World {
  const run = world.runs[worker];
  if (run === undefined) return world;
  const { intent } = world;
  const verdict: IntentVerdict =
    world.lock !== worker
      ? 'lost'
      : intent?.accepted === true
        ? 'accepted'
        : intent !== undefined
          ? 'unknown'
          : 'send';
  const next = withRun(world, worker, { verdict });
  if (verdict !== 'send') return next;
  return { ...next, intent: { of: nonceOf(run, worker), accepted: false } };
}

/** The run goes on to its request. @param answer undefined where the queue is held */
function asked(before: World, worker: Worker, answer: Answer | undefined, rules: Rules): World {
  let world = before;
  const isOnce = world.delivery === 'at-most-once';
  const runOf = (): Run => world.runs[worker] ?? fail();
  // What forbids the request before the gate: `outcomeUnsent` of notice-intent.ts.
  const isForbidden = () =>
    !runOf().owned || world.late || rules.earlierOutcome(intentOf(world, runOf())) !== undefined;
  if (world.ended !== undefined && rules.knowsEnds) {
    const end = { kind: 'completed', result: 'ended' } as const;
    return withRun(world, worker, { phase: 'ending', end });
  }
  if (!isForbidden() && answer === undefined) {
    return withRun(world, worker, { phase: 'ending', end: { kind: 'requeued' } });
  }
  if (isOnce && (!isForbidden() || world.late)) world = intended(world, worker);
  const run = runOf();
  const lost = run.verdict === 'lost';
  if (isForbidden() || lost || answer === undefined) {
    const outcome = leftOutAs(world, run, rules);
    return endedAs(world, worker, outcome, rules);
  }
  const { possiblySent } = intentOf(world, run);
  if (possiblySent > 0 && rules.countsAgain) {
    world = { ...withRun(world, worker, { counted: true }), twice: world.twice + 1 };
  }
  const isTaken = answer.startsWith('accepted');
  return {
    ...withRun(world, worker, { phase: 'asking', answer }),
    accepted: world.accepted + (isTaken ? 1 : 0),
  };
}

function leftOutAs(world: World, run: Run, rules: Rules): Outcome | undefined {
  const intent = intentOf(world, run);
  const isAtLeastOnce = world.delivery === 'at-least-once';
  if (isAtLeastOnce && !run.owned) return undefined;
  const earlier = rules.earlierOutcome(intent);
  if (earlier !== undefined || !world.late) return earlier;
  const neverStarted = isAtLeastOnce || intent.verdict === 'send';
  return neverStarted ? rules.knownAfter({ kind: 'expired' }, intent) : undefined;
}

function answered(world: World, worker: Worker, rules: Rules): World {
  const run = world.runs[worker] ?? fail();
  const outcome = decideOutcome(ANSWERS[run.answer ?? 'lost']);
  const known = rules.knownAfter(outcome, intentOf(world, run)) ?? outcome;
  const mayBeTaken = outcome.kind === 'accepted' || outcome.kind === 'unknown';
  const isUncounted = run.counted === true && !mayBeTaken;
  const counted = isUncounted ? { ...world, twice: world.twice - 1 } : world;
  return endedAs(counted, worker, known, rules);
}

/** Records the end of a notice, or ends the intent of a run; its job then waits to be moved. */
function endedAs(world: World, worker: Worker, outcome: Outcome | undefined, rules: Rules): World {
  const run = world.runs[worker] ?? fail();
  const intent = intentOf(world, run);
  const isOnce = world.delivery === 'at-most-once';
  const end = rules.endOf(outcome, isOnce, intent.lastAttempt);
  const own = outcome?.kind === 'unknown' && outcome.earlier !== true;
  const ending = (next: World, how: RunEnd) => withRun(next, worker, { phase: 'ending', end: how });
  if (end !== undefined) {
    // Also where the job has gone back to the queue, as long as no other run has started: that one finds the end.
    const isWaiting = world.place === 'wait' && world.last === worker;
    if (!isWaiting && !isOursNow(world, worker, rules)) {
      return ending(world, { kind: 'requeued' });
    }
    if (world.intent?.accepted === true) {
      return ending(world, { kind: 'completed', result: 'accepted' });
    }
    const { state } = end;
    const sum = world.earlier + intent.possiblySent + (own ? 1 : 0);
    const ended: Ended = {
      state,
      attempts: run.attempts + (state === 'expired' ? 0 : 1),
      possiblySent: state === 'unknown' ? Math.max(1, sum) : 0,
    };
    const ends = world.ends + 1;
    const next = { ...world, ended, intent: undefined, unknown: 0, ends };
    return ending(next, { kind: 'completed', result: state });
  }
  const hasIntent = intent.verdict === 'asked' || intent.verdict === 'send';
  const isOwn = hasIntent && world.intent?.of === nonceOf(run, worker);
  const isAccepted = outcome?.kind === 'accepted';
  let next = world;
  if (isOwn && world.intent !== undefined) {
    next = { ...next, intent: isAccepted ? { ...world.intent, accepted: true } : undefined };
  }
  const how = runEndOf(outcome);
  const isNoted = own && how.kind === 'retry' && (world.lock ?? worker) === worker;
  if (isNoted) next = { ...next, unknown: next.unknown + 1 };
  return ending(next, how);
}

/** How BullMQ is to move the job of a notice that is accepted, or tried again: `tryAgain` of disposition.ts. */
function runEndOf(outcome: Outcome | undefined): RunEnd {
  switch (outcome?.kind) {
    case 'accepted':
      return { kind: 'completed', result: 'accepted' };
    case 'unknown':
      return { kind: 'retry' };
    case 'retry':
      return { kind: outcome.counted ? 'retry' : 'delayed' };
    case undefined:
    case 'hold':
    case 'expired':
    case 'suppressed':
    case 'rejected':
      return { kind: 'requeued' };
  }
}

/** Whether the job is that of the run, also where its lock has ended and no other run has started. */
const isOursNow = ({ lock, place, last }: World, worker: Worker, { checksLock }: Rules): boolean =>
  !checksLock || lock === worker || (lock === undefined && place === 'active' && last === worker);

function recorded(world: World, worker: Worker, rules: Rules): World {
  const run = world.runs[worker] ?? fail();
  const { end } = run;
  const next = withoutRun(world, worker);
  if (end === undefined) return next;
  if (!isOursNow(world, worker, rules)) return next;
  const free = freed(next, worker);
  switch (end.kind) {
    case 'requeued':
      return { ...free, place: 'wait' };
    case 'delayed':
      return { ...free, place: 'delayed' };
    case 'retry':
      return { ...free, place: 'delayed', attempts: world.attempts + 1 };
    case 'completed': {
      if (end.result !== 'accepted') return { ...free, place: 'none' };
      const resultSent = intentOf(world, run).possiblySent + world.earlier;
      const [attempts, ends] = [world.attempts + 1, world.ends + 1];
      return { ...free, place: 'completed', attempts, ends, unknown: 0, resultSent };
    }
  }
}

/** The laws that a move broke. */
function judge(before: World, next: World, move: Move): Law[] {
  const broken: Law[] = [];
  const { delivery, accepted, acceptedBefore, twice, ended } = next;
  if (accepted + acceptedBefore - 1 > twice) broken.push('accepted twice and not counted');
  if (next.ends > 1) broken.push('ended twice');
  if (move.kind === 'ask' && next.runs[move.worker]?.phase === 'asking') {
    if (before.ended?.state === 'cancelled') {
      broken.push('sent after it was cancelled');
    }
    if (delivery === 'at-most-once' && before.accepted > 0) {
      broken.push('at-most-once, and sent again');
    }
    if (accepted > RESENDS + 1) broken.push('sent too often');
  }
  const isDecided = ended?.decided === true;
  if (ended?.state === 'cancelled' && !isDecided && accepted + acceptedBefore > 0) {
    broken.push('sent after it was cancelled');
  }
  const { state } = viewOf(next);
  if (
    isOver(next) &&
    (state === 'rejected' || state === 'expired') &&
    accepted + acceptedBefore > 0
  ) {
    broken.push('rejected although it was accepted');
  }
  if (state === 'accepted' && !isDecided && accepted + acceptedBefore === 0)
    broken.push('accepted although it was not');
  return broken;
}

/** Moves that end a notice once nothing goes wrong any more; undefined where they do not. */
export function endOf(world: World, rules: Rules): readonly Move[] | undefined {
  const moves: Move[] = [];
  let now = world;
  while (!isOver(now) || now.runs.some((run) => run !== undefined)) {
    const move = movesOf({ ...now, left: NO_TROUBLES }, ['accepted'])[0];
    if (move === undefined || moves.length > MOST_MOVES) return undefined;
    moves.push(move);
    now = after(now, move, rules);
  }
  return moves;
}

const MOST_MOVES = 40;

function fail(): never {
  throw new Error('no such run');
}
