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
  /** Answers to requests that are not about the notice: as all others may get them, too. Default: 0 */
  readonly stated?: number;
  readonly mutation?: Mutation;
}

/** What is taken out of the rules, to see that it is needed. */
export type Mutation =
  /** A refusal counts against any later acceptance, whatever its token. */
  | 'no token in the witness'
  /** An acceptance counts that began before it was asked for. */
  | 'any acceptance proves'
  /** What all others may meet counts as a refusal. */
  | 'one record of all meetings'
  /** Each meeting of the same job counts in the row. */
  | 'a row of meetings'
  /** A code that is known rejects. */
  | 'memory rejects';

interface Flight {
  readonly token: number;
  /** The last meeting that its process knew of when it began; 0 for none. */
  readonly asked: number;
  /** The jobs of which a refusal came before it began. */
  readonly after: readonly number[];
}

interface Job {
  readonly left: number;
  readonly flight?: Flight | undefined;
  readonly witness?: Witness | undefined;
  /** Token of its last refusal; 0 before the first. */
  readonly metWith: number;
  /** Another one was accepted since, with that token, and had begun after one of its refusals. */
  readonly contradicted: boolean;
}

interface State {
  readonly jobs: readonly Job[];
  readonly token: number;
  readonly renewals: number;
  /** Stated answers left. */
  readonly stated: number;
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
  /** ... although no other was accepted between two of their refusals. */
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
    stated: scenario.stated ?? 0,
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
      if (state.stated > 0) yield answerAll(state, index, job.flight);
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

/** It is answered as every other would be. Such a hold ends by the next acceptance, so it is left out. */
function answerAll(state: State, index: number, { token }: Flight): State {
  const job = state.jobs[index];
  if (job === undefined) return state;
  const { asks, witness } = decideMeet(
    { ...evidenceOf(state), askedMs: state.asks ? 0 : undefined, witness: job.witness },
    { class: 'stated', hold: 'credit', token: `${token}` },
  );
  const stated = state.stated - 1;
  const met = { ...job, flight: undefined, witness };
  return { ...put(state, index, met), stated, asks, meetings: state.meetings + 1 };
}

function evidenceOf({ proof, meetings, provenUpTo, provenToken, refusedRow, held }: State) {
  const record = { proof, meetings, provenUpTo, provenToken: `${provenToken}` };
  return { ...record, refusedRow, unknownRow: 0, held };
}

/** The witness as the rules see it without the one that is taken out. */
function seenAs(
  witness: Witness | undefined,
  token: string,
  mutation: Mutation | undefined,
): Witness | undefined {
  if (witness === undefined) return undefined;
  const { refusals, troubles } = witness;
  switch (mutation) {
    case 'no token in the witness':
      return { ...witness, refusals: refusals && { ...refusals, token } };
    case 'a row of meetings':
      return { ...witness, refused: false };
    case 'one record of all meetings':
      return {
        ...witness,
        refusals: troubles && troubles.at > (refusals?.at ?? 0) ? { ...troubles, token } : refusals,
      };
    case 'any acceptance proves':
    case 'memory rejects':
    case undefined:
      return witness;
  }
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
  const { proof, meetings, asks, held } = state;
  const evidence = evidenceOf(state);
  const decision = decideMeet(
    {
      ...evidence,
      provenToken: mutation === 'no token in the witness' ? `${token}` : evidence.provenToken,
      askedMs: asks ? (isQuiet ? 1_000 : 0) : undefined,
      witness: seenAs(job.witness, `${token}`, mutation),
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
