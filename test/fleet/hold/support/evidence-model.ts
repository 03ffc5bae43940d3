import { ROW } from '../../../../src/fleet/hold/evidence-scripts.ts';
import { decideMeet, type Witness } from './decide-meet.ts';

/**
 * Refusals and acceptances in every order, against a service that answers as it likes: what must hold is a
 * matter of cause and effect alone. Processes may have got any hint that was published, and none that was
 * not; a token may be replaced at any time.
 */
export interface Scenario {
  readonly jobs: number;
  /** Requests of each job. */
  readonly attempts: number;
  /** How often the token is replaced. */
  readonly renewals: number;
  readonly mutation?: Mutation;
}

/** What is taken out of the rules, to see that it is needed. */
export type Mutation =
  /** A refusal counts against any later acceptance, whatever its token. */
  | 'no token in the witness'
  /** An acceptance counts that began before it was asked for. */
  | 'any acceptance proves'
  /** Each meeting of the same job counts in the row. */
  | 'a row of meetings'
  /** A code that is known rejects. */
  | 'memory rejects';

interface Flight {
  readonly token: number;
  /** The last meeting that its process knew of when it began; 0 for none. */
  readonly asked: number;
  /** The jobs of which a meeting came before it began. */
  readonly after: readonly number[];
}

interface Job {
  readonly left: number;
  readonly flight?: Flight | undefined;
  readonly witness?: Witness | undefined;
  /** Token of its last meeting; 0 before the first. */
  readonly metWith: number;
  /** Another one was accepted since, with that token, and had begun after one of its meetings. */
  readonly contradicted: boolean;
}

interface State {
  readonly jobs: readonly Job[];
  readonly token: number;
  readonly renewals: number;
  readonly proof: number;
  readonly meetings: number;
  readonly provenUpTo: number;
  readonly provenToken: number;
  readonly asks: boolean;
  readonly refusedRow: number;
  readonly held: boolean;
  /** The jobs that met it since the last proof. */
  readonly met: readonly number[];
}

/** What an exhaustive run found. */
export interface Findings {
  readonly states: number;
  /** Jobs rejected for themselves. */
  readonly own: number;
  /** ... although no other was accepted between two of their meetings. */
  readonly ownWithoutCause: number;
  readonly holds: number;
  /** Holds of fewer different jobs than make a row. */
  readonly holdsOfFew: number;
}

/**
 * Tries every order of steps.
 *
 * @param until ends it as soon as it has found so much. Default: never
 */
export function explore(
  scenario: Scenario,
  until: (found: Omit<Findings, 'states'>) => boolean = () => false,
): Findings {
  const first: State = {
    jobs: Array.from({ length: scenario.jobs }, () => ({
      left: scenario.attempts,
      metWith: 0,
      contradicted: false,
    })),
    token: 1,
    renewals: scenario.renewals,
    proof: 0,
    meetings: 0,
    provenUpTo: 0,
    provenToken: 0,
    asks: false,
    refusedRow: 0,
    held: false,
    met: [],
  };
  const found = { own: 0, ownWithoutCause: 0, holds: 0, holdsOfFew: 0 };
  const seen = new Set([JSON.stringify(first)]);
  const queue = [first];
  for (let state = queue.pop(); state !== undefined && !until(found); state = queue.pop()) {
    for (const next of steps(state, scenario.mutation, found)) {
      const key = JSON.stringify(next);
      if (seen.has(key)) continue;
      seen.add(key);
      queue.push(next);
    }
  }
  return { states: seen.size, ...found };
}

type Counts = { -readonly [Key in Exclude<keyof Findings, 'states'>]: number };

function* steps(state: State, mutation: Mutation | undefined, found: Counts): Generator<State> {
  if (state.renewals > 0) {
    yield { ...state, token: state.token + 1, renewals: state.renewals - 1 };
  }
  for (const [index, job] of state.jobs.entries()) {
    if (job.flight !== undefined) {
      yield accept(state, index, job.flight, mutation);
      for (const isQuiet of [false, true]) {
        yield refuse(state, index, job.flight, isQuiet, mutation, found);
      }
    } else if (job.left > 0) {
      yield* begin(state, index, job);
    }
  }
}

/** Its process knows any of the hints so far. */
function* begin(state: State, index: number, job: Job): Generator<State> {
  const after = [...state.jobs.keys()].filter((other) => state.jobs[other]?.metWith !== 0);
  // What was proven since is as good as nothing.
  for (let asked = state.provenUpTo; asked <= state.meetings; asked++) {
    const flight = { token: state.token, asked, after };
    yield put(state, index, { ...job, left: job.left - 1, flight });
  }
}

function accept(
  state: State,
  index: number,
  { token, asked, after }: Flight,
  mutation: Mutation | undefined,
): State {
  const jobs = state.jobs.map((job, other) => ({
    ...job,
    ...(other === index ? { flight: undefined, left: 0 } : {}),
    contradicted:
      job.contradicted || (other !== index && after.includes(other) && job.metWith === token),
  }));
  const upTo = mutation === 'any acceptance proves' ? state.meetings : asked;
  if (upTo <= state.provenUpTo || token !== state.token) return { ...state, jobs };
  return {
    ...state,
    jobs,
    proof: state.proof + 1,
    provenUpTo: upTo,
    provenToken: token,
    asks: upTo < state.meetings,
    refusedRow: 0,
    met: [],
  };
}

function refuse(
  state: State,
  index: number,
  { token }: Flight,
  isQuiet: boolean,
  mutation: Mutation | undefined,
  found: Counts,
): State {
  const job = state.jobs[index];
  if (job === undefined) return state;
  const { proof, meetings, provenUpTo, asks, refusedRow, held } = state;
  const decision = decideMeet(
    {
      proof,
      meetings,
      provenUpTo,
      provenToken: mutation === 'no token in the witness' ? `${token}` : `${state.provenToken}`,
      refusedRow,
      held,
      unknownRow: 0,
      askedMs: asks ? (isQuiet ? 1_000 : 0) : undefined,
      witness:
        mutation === 'no token in the witness' && job.witness !== undefined
          ? { ...job.witness, token: `${token}` }
          : mutation === 'a row of meetings' && job.witness !== undefined
            ? { ...job.witness, refused: false }
            : job.witness,
    },
    { class: 'refusal', hold: 'credentials', token: `${token}`, ownAfter: 1 },
  );
  const isKnown = mutation === 'memory rejects' && state.jobs.some(({ metWith }) => metWith > 0);
  const kind = isKnown && proof > 0 ? 'own' : decision.kind;
  const met = [...new Set([...state.met, index])].sort((a, b) => a - b);
  if (kind === 'own') {
    found.own++;
    if (!job.contradicted) found.ownWithoutCause++;
  }
  if (kind === 'held' && !held) {
    found.holds++;
    if (met.length < ROW) found.holdsOfFew++;
  }
  const jobs = state.jobs.map((other, at) => {
    if (at === index) {
      return {
        left: kind === 'own' ? 0 : other.left,
        flight: undefined,
        witness: decision.witness,
        metWith: token,
        contradicted: false,
      };
    }
    return other;
  });
  const row = decision.refusedRow;
  return {
    ...state,
    jobs,
    asks: decision.asks,
    meetings: meetings + 1,
    refusedRow: row,
    held: held || kind === 'held',
    met,
  };
}

function put(state: State, index: number, job: Job): State {
  return { ...state, jobs: state.jobs.with(index, job) };
}
