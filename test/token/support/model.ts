import { decideAcquire, type Verdict } from './decide-acquire.ts';

/**
 * The protocol of the shared token as a small state machine without clocks: a service that keeps one token
 * per app, the token record, and workers that each want one send accepted. Every order of their steps is
 * tried. Tokens are numbered as the service issues them; 0 is none.
 */
export interface Scenario {
  readonly workers: number;
  /** How many of them have a notice that the service refuses for itself, with the same code. Default: 0 */
  readonly poison?: number;
  /** How often the service may let its current token die. */
  readonly invalidations?: number;
  /** How often the lock may end while its holder still lives (it was slow, stopped, cut off). */
  readonly expiries?: number;
  /** How often a holder may be killed. */
  readonly kills?: number;
  /** Workers start with a copy of token 1, which is stored; otherwise the record is empty. */
  readonly warm?: boolean;
  /** TOKEN_BUDGET. Default: more than is ever issued */
  readonly budget?: number;
  readonly mutation?: Mutation;
}

/** What is taken out of the protocol, to see that it is needed. */
export type Mutation =
  /** A refused token is replaced whatever is stored. */
  | 'no comparison'
  /** A worker decides first and locks later, without looking again. */
  | 'no re-check under the lock'
  /** Every holder stores, even a late one over a newer token. */
  | 'no fence'
  /** A holder releases the lock whoever has it. */
  | 'no owner'
  /** It is not remembered for which refusal a token was issued. */
  | 'no memory'
  /** Issuances are not counted. */
  | 'no budget';

type Phase =
  | 'send' // puts a call with its copy on the way
  | 'taken' // the service took the call; the answer is on its way
  | 'turned down' // the service refused the token; the answer is on its way
  | 'refused for itself' // the service refused the notice; the answer is on its way
  | 'want' // asks the record
  | 'decided' // mutation only: may lock, and has not yet
  | 'issue' // holds a fence, and perhaps still the lock
  | 'store' // has an issued token in hand
  | 'done'
  | 'killed';

interface Worker {
  readonly phase: Phase;
  readonly copy: number;
  readonly refused: number;
  /** It was refused with the code of the notice, not of the token. */
  readonly own: boolean;
  readonly fence: number;
  /** Requests that a notice which is refused for itself may still make; undefined for a good one. */
  readonly requests: number | undefined;
}

interface State {
  readonly workers: readonly Worker[];
  /** The service: the token last issued, and whether it is alive. */
  readonly issued: number;
  readonly alive: boolean;
  /** The token record. */
  readonly stored: number;
  readonly storedFence: number;
  readonly holder: number;
  readonly fence: number;
  readonly refusal: boolean;
  /** A token was issued for the code of the notices, within ten minutes. */
  readonly tried: boolean;
  /** Issuances in the window of the budget; 0 in a scenario without one. */
  readonly spent: number;
  /** What may still happen to them. */
  readonly invalidations: number;
  readonly expiries: number;
  readonly kills: number;
}

/** What an exhaustive run found. */
export interface Findings {
  readonly states: number;
  /** Most issuances on a path over and above the law (strayOf) and 2 x faults: 0 is the law, exhausted. */
  readonly mostStray: number;
  /** The same on paths where no fault has happened. */
  readonly mostStrayWithoutFault: number;
  /** Most issuances in one window of the budget. */
  readonly mostSpent: number;
  /** The run was cut: issuances grew beyond any bound. */
  readonly unbounded: boolean;
  /** States from which some worker alive can never finish. */
  readonly stuck: number;
}

const NONE = -1;
const OWN = '403 OF_NOTICE';
/** A notice that is refused for itself ends after so many requests. */
const POISON_REQUESTS = 3;

/** Tries every order of steps, up to `cap` issuances over the law. */
export function explore(scenario: Scenario, cap = 4): Findings {
  const first = begin(scenario);
  const seen = new Map<string, { state: State; next: string[] }>();
  const queue: State[] = [first];
  seen.set(JSON.stringify(first), { state: first, next: [] });
  let mostStray = 0;
  let mostStrayWithoutFault = 0;
  let mostSpent = 0;
  let unbounded = false;

  for (let state = queue.pop(); state !== undefined; state = queue.pop()) {
    const stray = strayOf(state, first, scenario);
    const faults = first.expiries - state.expiries + first.kills - state.kills;
    mostStray = Math.max(mostStray, stray - 2 * faults);
    mostSpent = Math.max(mostSpent, state.spent);
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
  return { states: seen.size, mostStray, mostStrayWithoutFault, mostSpent, unbounded, stuck };
}

function begin(scenario: Scenario): State {
  const { workers, poison = 0, warm = true } = scenario;
  const { invalidations = 0, expiries = 0, kills = 0 } = scenario;
  const token = warm ? 1 : 0;
  return {
    workers: Array.from({ length: workers }, (_, index) => ({
      phase: warm ? 'send' : 'want',
      copy: token,
      refused: 0,
      own: false,
      fence: 0,
      requests: index < poison ? POISON_REQUESTS : undefined,
    })),
    issued: token,
    alive: warm,
    stored: token,
    storedFence: token,
    holder: NONE,
    fence: token,
    refusal: false,
    tried: false,
    spent: 0,
    invalidations,
    expiries,
    kills,
  };
}

/** Issuances beyond the first token, one for each that died, and one for the code of the notices at fault. */
function strayOf(state: State, first: State, { poison = 0 }: Scenario): number {
  const died = first.invalidations - state.invalidations;
  return state.issued - 1 - died - Math.min(poison, 1);
}

function* steps(state: State, scenario: Scenario): Generator<State> {
  for (const [index, worker] of state.workers.entries()) {
    yield* workerSteps(state, index, worker, scenario);
    const holds = worker.phase === 'issue' || worker.phase === 'store';
    if (holds && state.kills > 0) {
      yield { ...put(state, index, { phase: 'killed' }), kills: state.kills - 1 };
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
  // The window of the budget passes.
  if (state.refusal) yield { ...state, refusal: false, spent: 0 };
}

function* workerSteps(
  state: State,
  index: number,
  { phase, copy, fence, requests }: Worker,
  scenario: Scenario,
): Generator<State> {
  switch (phase) {
    case 'send': {
      const valid = state.alive && copy === state.issued;
      const answer = requests === undefined ? 'taken' : 'refused for itself';
      yield put(state, index, { phase: valid ? answer : 'turned down' });
      return;
    }
    case 'taken':
      yield put(state, index, { phase: 'done', copy: 0, refused: 0, fence: 0 });
      return;
    case 'turned down':
      yield put(state, index, { phase: 'want', copy: 0, refused: copy, own: false });
      return;
    case 'refused for itself': {
      const left = (requests ?? 0) - 1;
      yield left === 0
        ? put(state, index, { phase: 'done', copy: 0, refused: 0, fence: 0, requests: 0 })
        : put(state, index, { phase: 'want', copy: 0, refused: copy, own: true, requests: left });
      return;
    }
    case 'want':
      yield* ask(state, index, scenario);
      return;
    case 'decided':
      if (state.holder === NONE) yield lock(state, index);
      return;
    case 'issue':
      yield {
        ...put(state, index, { phase: 'store', copy: state.issued + 1 }),
        issued: state.issued + 1,
        alive: true,
        spent: scenario.budget === undefined ? 0 : state.spent + 1,
      };
      return;
    case 'store':
      yield store(state, index, { copy, fence }, scenario);
      return;
    case 'done':
    case 'killed':
  }
}

function* ask(state: State, index: number, scenario: Scenario): Generator<State> {
  const verdict = decide(state, index, scenario);
  switch (verdict.kind) {
    case 'take':
    case 'keep':
      yield put(state, index, { phase: 'send', copy: state.stored, refused: 0, own: false });
      return;
    case 'lock':
      yield scenario.mutation === 'no re-check under the lock'
        ? put(state, index, { phase: 'decided' })
        : lock(state, index);
      return;
    case 'refused':
      // The worker waits for its end, which is a separate step.
      if (verdict.fresh) yield { ...state, refusal: true };
      return;
    case 'young':
    case 'wait':
  }
}

function decide(state: State, index: number, { mutation, budget = 1_000 }: Scenario): Verdict {
  const { refused = 0, own = false } = state.workers[index] ?? {};
  const { stored, storedFence, holder, fence, refusal, tried, spent } = state;
  const compared = mutation === 'no comparison' && refused !== 0 ? stored : refused;
  const want = {
    refused: compared === 0 ? '' : `${compared}`,
    refusal: own ? OWN : '',
    graceMs: 0,
    early: false,
  };
  const record = {
    fence,
    ...(stored === 0 ? {} : { token: { id: `${stored}`, ageMs: 1, fence: storedFence } }),
    ...(holder === NONE ? {} : { lock: 5 }),
    ...(tried && mutation !== 'no memory' ? { tried: { refusal: OWN, restMs: 9 } } : {}),
    ...(refusal ? { refusal: { code: 'TOKEN_CONTESTED', ageMs: 1, restMs: 5 } } : {}),
    issued: mutation === 'no budget' ? [] : Array<number>(spent).fill(1),
  };
  const limits = { lockTtlMs: 10, budgetWindowMs: 1000, refusedMinMs: 1, refusedMaxMs: 10 };
  return decideAcquire(record, want, { ...limits, budget });
}

function lock(state: State, index: number): State {
  const fence = Math.max(state.fence, state.storedFence) + 1;
  return { ...put(state, index, { phase: 'issue', fence }), holder: index, fence };
}

function store(
  state: State,
  index: number,
  { copy, fence }: Pick<Worker, 'copy' | 'fence'>,
  { mutation }: Scenario,
): State {
  const holder = state.holder === index || mutation === 'no owner' ? NONE : state.holder;
  if (fence <= state.storedFence && mutation !== 'no fence') {
    return { ...put(state, index, { phase: 'want', copy: 0 }), holder };
  }
  return {
    ...put(state, index, { phase: 'send', refused: 0, own: false }),
    holder,
    stored: copy,
    storedFence: fence,
    tried: state.tried || state.workers[index]?.own === true,
    refusal: false,
  };
}

function put(state: State, index: number, change: Partial<Worker>): State {
  const worker = state.workers[index];
  if (worker === undefined) return state;
  return { ...state, workers: state.workers.with(index, { ...worker, ...change }) };
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
