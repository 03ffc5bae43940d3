import type { TokenWant } from '../../../src/token/acquire-decision.ts';
import { decideAcquire, type Verdict } from './decide-acquire.ts';

/**
 * The protocol of the shared token as a small state machine without clocks: a service that keeps one token
 * per app, the token record, and workers that each want one send accepted. Every order of their steps is
 * tried. Tokens are numbered as the service issues them; 0 is none.
 */
export interface Scenario {
  readonly workers: number;
  /** How often the service may let its current token die. */
  readonly invalidations: number;
  /** How often the lock may end while its holder still lives (it was slow, stopped, cut off). */
  readonly expiries: number;
  /** How often a holder may be killed. */
  readonly kills: number;
  /** Workers start with a copy of token 1, which is stored and proven; otherwise the record is empty. */
  readonly warm: boolean;
  /** Three tokens died early before: the next one that does is contested once no acceptance comes. */
  readonly war?: true;
  readonly mutation?: Mutation;
}

/** What is taken out of the protocol, to see that it is needed. */
export type Mutation =
  /** A refused token is replaced whatever is stored. */
  | 'no comparison'
  /** A worker decides first and locks later, without looking again. */
  | 'no re-check under the lock'
  /** Every holder stores, even a late one over a newer token. */
  | 'no fence';

type Phase =
  | 'send' // puts a call with its copy on the way
  | 'taken' // the service took the call; the answer is on its way
  | 'turned down' // the service refused the token; the answer is on its way
  | 'want' // asks the shared
  | 'decided' // mutation only: may lock, and has not yet
  | 'issue' // holds a fence, and perhaps still the lock
  | 'store' // has an issued token in hand
  | 'done'
  | 'killed';

interface Worker {
  readonly phase: Phase;
  readonly copy: number;
  readonly refused: number;
  readonly fence: number;
}

interface State {
  readonly workers: readonly Worker[];
  /** The service: the token last issued, and whether it is alive. */
  readonly issued: number;
  readonly alive: boolean;
  /** The token record. */
  readonly stored: number;
  readonly storedFence: number;
  readonly proven: boolean;
  readonly unproven: number;
  readonly contested: boolean;
  readonly holder: number;
  readonly fence: number;
  readonly refusal: boolean;
  /** Early deaths on record. */
  readonly deaths: number;
  /** An acceptance was asked for: since a moment, or it is overdue. */
  readonly asked: 'no' | 'now' | 'overdue';
  /** What may still happen to them. */
  readonly invalidations: number;
  readonly expiries: number;
  readonly kills: number;
}

/** What an exhaustive run found. */
export interface Findings {
  readonly states: number;
  /** Most issuances on a path over and above invalidations + 2 x faults: 0 is the law, exhausted. */
  readonly mostStray: number;
  /** The same on paths where no fault has happened. */
  readonly mostStrayWithoutFault: number;
  /** The run was cut: issuances grew beyond any bound. */
  readonly unbounded: boolean;
  /** States from which some worker alive can never finish. */
  readonly stuck: number;
}

const NONE = -1;
const LIMITS = {
  lockTtlMs: 10,
  budget: 1000,
  budgetWindowMs: 1000,
  refusedMinMs: 1,
  refusedMaxMs: 10,
};

/** Tries every order of steps, up to `cap` issuances over the law. */
export function explore(scenario: Scenario, cap = 4): Findings {
  const first = begin(scenario);
  const seen = new Map<string, { state: State; next: string[] }>();
  const queue: State[] = [first];
  seen.set(JSON.stringify(first), { state: first, next: [] });
  let mostStray = 0;
  let mostStrayWithoutFault = 0;
  let unbounded = false;

  for (let state = queue.pop(); state !== undefined; state = queue.pop()) {
    const stray = strayOf(state, scenario);
    const faults = scenario.expiries - state.expiries + scenario.kills - state.kills;
    mostStray = Math.max(mostStray, stray - 2 * faults);
    if (faults === 0) mostStrayWithoutFault = Math.max(mostStrayWithoutFault, stray);
    if (stray > 2 * faults + cap) {
      unbounded = true;
      continue;
    }
    const entry = seen.get(JSON.stringify(state));
    for (const next of steps(state, scenario)) {
      const key = JSON.stringify(next);
      entry?.next.push(key);
      if (seen.has(key)) continue;
      seen.set(key, { state: next, next: [] });
      queue.push(next);
    }
  }
  const stuck = unbounded ? 0 : countStuck(seen);
  return { states: seen.size, mostStray, mostStrayWithoutFault, unbounded, stuck };
}

function begin({ workers, warm, invalidations, expiries, kills, war }: Scenario): State {
  const worker: Worker = {
    phase: warm ? 'send' : 'want',
    copy: warm ? 1 : 0,
    refused: 0,
    fence: 0,
  };
  const token = warm ? 1 : 0;
  return {
    workers: Array.from({ length: workers }, () => worker),
    issued: token,
    alive: warm,
    stored: token,
    storedFence: token,
    proven: warm,
    unproven: 0,
    contested: false,
    holder: NONE,
    fence: token,
    refusal: false,
    deaths: war === undefined ? 0 : 3,
    asked: 'no',
    invalidations,
    expiries,
    kills,
  };
}

/** Issuances beyond the first token and one for each that died. */
function strayOf(state: State, { invalidations }: Scenario): number {
  return state.issued - 1 - (invalidations - state.invalidations);
}

function* steps(state: State, scenario: Scenario): Generator<State> {
  for (const [index, worker] of state.workers.entries()) {
    yield* workerSteps(state, index, worker, scenario);
    const holds = worker.phase === 'issue' || worker.phase === 'store';
    if (holds && state.kills > 0) {
      yield { ...put(state, index, { ...worker, phase: 'killed' }), kills: state.kills - 1 };
    }
  }
  if (state.alive && state.invalidations > 0) {
    yield { ...state, alive: false, invalidations: state.invalidations - 1 };
  }
  if (state.holder !== NONE) {
    const dead = state.workers[state.holder]?.phase === 'killed';
    if (dead) yield { ...state, holder: NONE };
    else if (state.expiries > 0) {
      yield { ...state, holder: NONE, expiries: state.expiries - 1 };
    }
  }
  if (state.refusal) yield { ...state, refusal: false };
  if (state.asked === 'now') yield { ...state, asked: 'overdue' };
}

function* workerSteps(
  state: State,
  index: number,
  worker: Worker,
  scenario: Scenario,
): Generator<State> {
  switch (worker.phase) {
    case 'send': {
      const accepted = state.alive && worker.copy === state.issued;
      yield put(state, index, { ...worker, phase: accepted ? 'taken' : 'turned down' });
      return;
    }
    case 'taken': {
      const proven = state.proven || state.stored === worker.copy;
      yield { ...put(state, index, finished()), proven, asked: 'no' };
      return;
    }
    case 'turned down':
      yield put(state, index, { ...worker, phase: 'want', copy: 0, refused: worker.copy });
      return;
    case 'want':
      yield* ask(state, index, worker, scenario);
      return;
    case 'decided':
      if (state.holder === NONE) yield lock(state, index, worker);
      return;
    case 'issue':
      yield {
        ...put(state, index, { ...worker, phase: 'store', copy: state.issued + 1 }),
        issued: state.issued + 1,
        alive: true,
      };
      return;
    case 'store':
      yield store(state, index, worker, scenario);
      return;
    case 'done':
    case 'killed':
  }
}

function* ask(state: State, index: number, worker: Worker, scenario: Scenario): Generator<State> {
  const verdict = decide(state, worker, scenario);
  switch (verdict.kind) {
    case 'take':
      yield put(state, index, { ...worker, phase: 'send', copy: state.stored });
      return;
    case 'lock':
      yield scenario.mutation === 'no re-check under the lock'
        ? put(state, index, { ...worker, phase: 'decided' })
        : lock(state, index, worker);
      return;
    case 'refused':
      // Refused by the refusal in effect: the worker waits for its end, which is a separate step.
      if (verdict.fresh) yield { ...state, refusal: true, contested: true };
      return;
    case 'keep': {
      // Its next attempt, with the same token.
      const again = put(state, index, {
        ...worker,
        phase: 'send',
        copy: worker.refused,
        refused: 0,
      });
      yield { ...again, asked: state.asked === 'no' ? 'now' : state.asked };
      return;
    }
    case 'young':
    case 'wait':
    case 'later':
  }
}

function decide(state: State, { refused }: Worker, { mutation }: Scenario): Verdict {
  const compared = mutation === 'no comparison' && refused !== 0 ? state.stored : refused;
  const id = compared === 0 ? '' : `${compared}`;
  const want: TokenWant = { why: 'use', refused: id, graceMs: 0, refusal: { status: 401 } };
  const { stored, storedFence, proven, unproven, contested, holder, fence, refusal } = state;
  const shared = {
    fence,
    deaths: Array<number>(state.deaths).fill(1),
    ...(state.asked === 'no'
      ? {}
      : { evidence: { askedMsAgo: state.asked === 'now' ? 0 : 3_000, row: 1 } }),
    ...(stored === 0
      ? {}
      : { token: { id: `${stored}`, ageMs: 1, fence: storedFence, proven, unproven, contested } }),
    ...(holder === NONE ? {} : { lock: 5 }),
    ...(refusal ? { refusal: { kind: 'contested', code: 'TOKEN_CONTESTED', ttl: 5 } } : {}),
  };
  return decideAcquire(shared, want, LIMITS);
}

function lock(state: State, index: number, worker: Worker): State {
  const fence = Math.max(state.fence, state.storedFence) + 1;
  return { ...put(state, index, { ...worker, phase: 'issue', fence }), holder: index, fence };
}

function store(state: State, index: number, worker: Worker, { mutation }: Scenario): State {
  const holder = state.holder === index ? NONE : state.holder;
  if (worker.fence <= state.storedFence && mutation !== 'no fence') {
    return { ...put(state, index, { ...worker, phase: 'want', copy: 0 }), holder };
  }
  const neverWorked = state.stored !== 0 && state.stored === worker.refused && !state.proven;
  return {
    ...put(state, index, { ...worker, phase: 'send', refused: 0 }),
    holder,
    stored: worker.copy,
    storedFence: worker.fence,
    proven: false,
    unproven: neverWorked ? state.unproven + 1 : 0,
    contested: false,
    refusal: false,
  };
}

function finished(): Worker {
  return { phase: 'done', copy: 0, refused: 0, fence: 0 };
}

function put(state: State, index: number, worker: Worker): State {
  return { ...state, workers: state.workers.with(index, worker) };
}

/** States from which no path leads to one where every worker alive is done. */
function countStuck(seen: ReadonlyMap<string, { state: State; next: string[] }>): number {
  const before = new Map<string, string[]>();
  const good: string[] = [];
  for (const [key, { state, next }] of seen) {
    for (const to of next) before.set(to, [...(before.get(to) ?? []), key]);
    const ended = state.workers.every(({ phase }) => phase === 'done' || phase === 'killed');
    if (ended) good.push(key);
  }
  const fine = new Set(good);
  for (let key = good.pop(); key !== undefined; key = good.pop()) {
    for (const from of before.get(key) ?? []) {
      if (fine.has(from)) continue;
      fine.add(from);
      good.push(from);
    }
  }
  return seen.size - fine.size;
}
