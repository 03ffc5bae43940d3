import type { Outcome } from '../../../../src/contracts/outcome.ts';
import type { IntentVerdict } from '../../../../src/fleet/intents/intents.ts';
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
      return { ...next, ...ADDED, place: 'wait', result: undefined, acceptedBefore };
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
      return gone(spend(world, 'removals'));
    case 'accept':
    case 'discard':
      return { ...gone(spend(world, 'redrives')), listed: undefined };
    case 'redrive':
    case 'resend':
      return again(spend(world, 'redrives'), move.kind);
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

const gone = (world: World): World => ({ ...world, place: 'none' });

function cancelled(world: World, rules: Rules): World {
  if (isOver(world) || world.listed !== undefined) return world;
  if (rules.cancelsIdleOnly && world.place === 'active') return world;
  if (rules.cancelsUnsentOnly && possiblySentNow(world) + world.earlier > 0) return world;
  return { ...world, place: 'completed', result: 'cancelled', resultSent: 0, ends: world.ends + 1 };
}

/** A person sends a failed notice again. */
function again(world: World, kind: 'redrive' | 'resend'): World {
  const { state, possiblySent } = viewOf(world);
  const { listed } = world;
  // Rejected ones that were possibly sent in an earlier run are left out.
  if (kind === 'redrive' && state === 'rejected' && possiblySent > 0) return world;
  const counts = listed !== undefined || possiblySent > 0;
  return {
    ...world,
    ...ADDED,
    place: 'wait',
    result: undefined,
    listed: undefined,
    earlier: possiblySent,
    twice: world.twice + (counts ? 1 : 0),
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
function intentOf({ delivery }: World, { attempts, unknown, stalls, verdict }: Run): NoticeIntent {
  return {
    lastAttempt: attempts + 1 >= ATTEMPTS,
    possiblySent: delivery === 'at-most-once' ? 0 : unknown + stalls,
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
  const { intent, listed } = world;
  const verdict: IntentVerdict =
    world.lock !== worker
      ? 'lost'
      : intent?.accepted === true
        ? 'accepted'
        : listed !== undefined || intent !== undefined
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
  // What forbids the request before the gate: `decideNotice` of notice-decision.ts.
  const isForbidden = () =>
    !runOf().owned || world.late || rules.earlierOutcome(intentOf(world, runOf())) !== undefined;
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

/** Ends the intent of a run; its job then waits to be recorded. */
function endedAs(world: World, worker: Worker, outcome: Outcome | undefined, rules: Rules): World {
  const run = world.runs[worker] ?? fail();
  const intent = intentOf(world, run);
  const delivery = world.delivery === 'at-most-once' ? world.delivery : undefined;
  const how = rules.intentEnd(delivery, intent.verdict, outcome, intent.lastAttempt);
  const isOwn = world.intent?.of === nonceOf(run, worker);
  const own = outcome?.kind === 'unknown' && outcome.earlier !== true;
  const possiblySent = intent.possiblySent + (own || intent.possiblySent === 0 ? 1 : 0);
  let next = world;
  if (how === 'back' && isOwn) next = { ...next, intent: undefined };
  if (how === 'accepted' && isOwn && world.intent !== undefined) {
    next = { ...next, intent: { ...world.intent, accepted: true } };
  }
  if (how === 'own' && isOwn) next = { ...next, intent: undefined, listed: { possiblySent } };
  if (how === 'none') next = { ...next, listed: { possiblySent } };
  if (how === 'any' && (world.intent !== undefined || world.listed === undefined)) {
    next = { ...next, intent: undefined, listed: { possiblySent } };
  }
  const end = runEndOf(world, run, outcome);
  const isNoted = own && end.kind === 'retry' && (world.lock ?? worker) === worker;
  if (isNoted) next = { ...next, unknown: next.unknown + 1 };
  return withRun(next, worker, { phase: 'ending', end });
}

/** How BullMQ is to move the job: `applyOutcome` of disposition.ts. */
function runEndOf({ delivery }: World, run: Run, outcome: Outcome | undefined): RunEnd {
  const isOnce = delivery === 'at-most-once';
  const isLast = run.attempts + 1 >= ATTEMPTS;
  switch (outcome?.kind) {
    case undefined:
    case 'hold':
      return { kind: 'requeued' };
    case 'accepted':
    case 'expired':
      return { kind: 'completed', result: outcome.kind };
    case 'cancelled':
    case 'rejected':
      return { kind: 'failed' };
    case 'unknown':
      return isOnce || outcome.final === true || isLast ? { kind: 'failed' } : { kind: 'retry' };
    case 'retry':
      if (!outcome.counted) return { kind: 'delayed' };
      return { kind: isLast ? 'failed' : 'retry' };
  }
}

function recorded(world: World, worker: Worker, rules: Rules): World {
  const run = world.runs[worker] ?? fail();
  const { end } = run;
  const next = withoutRun(world, worker);
  if (end === undefined) return next;
  const isOurs = world.lock === undefined && world.place === 'active' && world.last === worker;
  if (rules.checksLock && world.lock !== worker && !isOurs) return next;
  const free = freed(next, worker);
  switch (end.kind) {
    case 'requeued':
      return { ...free, place: 'wait' };
    case 'delayed':
      return { ...free, place: 'delayed' };
    case 'retry':
      return { ...free, place: 'delayed', attempts: world.attempts + 1 };
    case 'completed':
    case 'failed':
      return {
        ...free,
        place: end.kind,
        attempts: world.attempts + 1,
        ends: world.ends + 1,
        unknown: 0,
        ...(end.kind === 'completed'
          ? { result: end.result, resultSent: intentOf(world, run).possiblySent }
          : {}),
      };
  }
}

/** The laws that a move broke. */
function judge(before: World, next: World, move: Move): Law[] {
  const broken: Law[] = [];
  const { delivery, accepted, acceptedBefore, twice, place, result } = next;
  if (accepted + acceptedBefore - 1 > twice) broken.push('accepted twice and not counted');
  if (next.ends > 1) broken.push('ended twice');
  if (move.kind === 'ask' && next.runs[move.worker]?.phase === 'asking') {
    if (before.result === 'cancelled' && before.place === 'completed') {
      broken.push('sent after it was cancelled');
    }
    if (delivery === 'at-most-once' && before.accepted > 0) {
      broken.push('at-most-once, and sent again');
    }
    if (accepted > RESENDS + 1) broken.push('sent too often');
  }
  if (place === 'completed' && result === 'cancelled' && accepted + acceptedBefore > 0) {
    broken.push('sent after it was cancelled');
  }
  const { state } = viewOf(next);
  if (isOver(next) && (state === 'rejected' || state === 'expired') && accepted > 0) {
    broken.push('rejected although it was accepted');
  }
  if (state === 'accepted' && accepted + acceptedBefore === 0)
    broken.push('accepted although it was not');
  if (place === 'failed' && state === 'unknown' && next.listed === undefined) {
    broken.push('unknown, and in no list');
  }
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
