import type { HoldKind } from '../../../../src/contracts/hold.ts';
import {
  MOST_PROBES,
  probeLimits,
  type ProbeLimits,
} from '../../../../src/fleet/hold/hold-scripts.ts';
import {
  AccountRow,
  Acceptances,
  judgeTrouble,
  TemplateRows,
  withTrouble,
  type Refused,
  type TroubleHistory,
  type TroubleVerdict,
} from '../../../../src/fleet/hold/trouble.ts';

interface Later {
  readonly at: number;
  /** Of two at the same time, the first that was added comes first. */
  readonly order: number;
  readonly run: () => void;
}

const isBefore = (one: Later, other: Later) =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

/** What happens later in virtual time, as a binary heap: nothing comes before what is at half its index. */
class Agenda {
  readonly #heap: Later[] = [];
  #added = 0;

  add(at: number, run: () => void): void {
    const heap = this.#heap;
    const added = { at, order: this.#added++, run };
    let index = heap.length;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const other = heap[above] as Later;
      if (isBefore(other, added)) break;
      heap[index] = other;
      index = above;
    }
    heap[index] = added;
  }

  next(): Later | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Later, heap[below] as Later))
        below++;
      if (isBefore(last, heap[below] as Later)) break;
      heap[index] = heap[below] as Later;
      index = below;
    }
    heap[index] = last;
    return first;
  }
}

/** How the simulated service answers a request. */
export type Answer =
  'accepted' | 'error' | 'not-sent' | 'throttled' | 'page' | 'refused' | 'rejected';

const noticeOf = (id: number, template: string, poison: boolean) => ({
  id,
  template,
  poison,
  attempts: 0,
  requests: 0,
  possiblySent: 0,
  history: undefined as TroubleHistory | undefined,
  troubles: 0,
  state: 'waiting' as 'waiting' | 'accepted' | 'rejected' | 'unknown',
  endedAt: Infinity,
});
type Notice = ReturnType<typeof noticeOf>;

const processOf = (number: number) => ({
  number,
  row: new AccountRow(0),
  rows: new TemplateRows(),
  acceptances: new Acceptances(),
  inFlight: 0,
  /** It placed the hold, or a request of it failed meanwhile, and none was accepted since. */
  inTrouble: false,
  /** Another process has lifted that hold. */
  othersGo: false,
  /** It steps aside until then. */
  asideUntil: 0,
  asides: 0,
  /** It leaves the probe to others until then. */
  othersUntil: 0,
});
type Process = ReturnType<typeof processOf>;

export interface Simulation {
  readonly processes: number;
  /** Requests at a time of each process. */
  readonly slots: number;
  readonly seconds: number;
  /** Good notices arrive whenever none waits. Default: where none are given. */
  readonly endless?: boolean;
  /** Notices that wait at the beginning; infinite where undefined. */
  readonly notices?: readonly { readonly template: string; readonly poison?: boolean }[];
  readonly answer: (notice: Notice, atMs: number, process: number, random: number) => Answer;
  readonly seed?: number;
}

export type Outcome = ReturnType<typeof simulate>;

/** The scope of a hold that is not one template's. */
const ALL = '*';

const PROBE_MIN_MS = 500;
const PROBE_MAX_MS = 60_000;
const LIMITS = { minMs: PROBE_MIN_MS, maxMs: PROBE_MAX_MS };
const OTHERS_FIRST_MS = 500;
/** Duration of a request: half to one and a half of it. */
const LATENCY_MS = 100;
const AGAIN_MS = 1_000;
const ATTEMPTS = 10;
const RESENDS = 2;
const PASSES = 2;
const HOLD_OF: Record<Exclude<Answer, 'accepted' | 'rejected'>, HoldKind> = {
  error: 'failing',
  'not-sent': 'unreachable',
  throttled: 'throttled',
  page: 'address',
  refused: 'credentials',
};

interface SimulatedHold {
  readonly kind: HoldKind;
  readonly limits: ProbeLimits;
  nextAt: number;
  round: number;
  left: number;
  passed: number;
}

interface Attempt {
  readonly begun: number;
  readonly isProbe: boolean;
  /** Another one was accepted between its last trouble and its request. */
  readonly contradicted: boolean;
}

/** The rules of src/fleet/hold in virtual time, with the state of Redis as plain variables. */
export function simulate({
  processes: count,
  slots,
  seconds,
  notices: given,
  endless = given === undefined,
  answer,
  seed = 1,
}: Simulation) {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const agenda = new Agenda();
  let now = 0;
  const waiting: Notice[] = [];
  let head = 0;
  const all: Notice[] = [];
  const add = (template: string, poison: boolean): Notice => {
    const one = noticeOf(all.length, template, poison);
    all.push(one);
    return one;
  };
  for (const { template, poison = false } of given ?? []) waiting.push(add(template, poison));
  const take = (): Notice | undefined => {
    if (head < waiting.length) return waiting[head++];
    return endless ? add('T', false) : undefined;
  };

  const holds = new Map<string, SimulatedHold>();
  let liftedBy = -1;
  let heldSince = 0;
  const seen = {
    accepted: 0,
    doubtful: 0,
    holds: 0,
    pauses: 0,
    heldMs: 0,
    firstHoldAt: Infinity,
    firstTemplateHoldAt: Infinity,
    /** When the last notice that is accepted was. */
    lastAcceptedAt: 0,
  };
  const fleet = Array.from({ length: count }, (_, number) => processOf(number));

  const later = (ms: number, notice: Notice) => {
    agenda.add(now + ms, () => {
      waiting.push(notice);
      wake();
    });
  };
  const place = (scope: string, kind: HoldKind, by: Process) => {
    const before = holds.get(scope);
    if (before?.kind === kind) return;
    if (scope === ALL) {
      if (before === undefined) {
        seen.holds++;
        seen.firstHoldAt = Math.min(seen.firstHoldAt, now);
        heldSince = now;
      }
      by.inTrouble = true;
    } else {
      seen.pauses++;
      seen.firstTemplateHoldAt = Math.min(seen.firstTemplateHoldAt, now);
    }
    const limits = probeLimits(scope === ALL ? kind : 'template', LIMITS);
    const hold = { kind, limits, nextAt: now + limits.minMs, round: 0, left: 1, passed: 0 };
    holds.set(scope, hold);
    if (scope === ALL) by.othersUntil = hold.nextAt + OTHERS_FIRST_MS;
    agenda.add(hold.nextAt, wake);
    agenda.add(hold.nextAt + OTHERS_FIRST_MS, wake);
  };
  /** Whether an attempt may be made; takes one of the probes of the round. */
  const takeProbe = (scope: string, hold: SimulatedHold): boolean => {
    if (now < hold.nextAt) return false;
    hold.left--;
    if (hold.left === 0) {
      hold.round++;
      const { minMs, maxMs } = hold.limits;
      hold.nextAt = now + Math.min(minMs * 2 ** hold.round, maxMs);
      hold.left = scope === ALL ? 1 : Math.min(2 ** hold.round, MOST_PROBES);
      agenda.add(hold.nextAt, wake);
      agenda.add(hold.nextAt + OTHERS_FIRST_MS, wake);
    }
    return true;
  };
  const passed = (scope: string, by: number) => {
    const hold = holds.get(scope);
    if (hold === undefined) return;
    if (hold.kind === 'failing' && ++hold.passed < PASSES) {
      hold.nextAt = now;
      hold.left = 1;
      return;
    }
    holds.delete(scope);
    if (scope !== ALL) return;
    seen.heldMs += now - heldSince;
    liftedBy = by;
  };

  /** Takes jobs while slots are free and the gate is open. */
  function wake(): void {
    for (let moved = true; moved;) {
      moved = false;
      for (const process of fleet) {
        if (process.inFlight >= slots || process.asideUntil > now) continue;
        if (process.row.isDoubtful && process.inFlight > 0) continue;
        const hold = holds.get(ALL);
        if (hold === undefined && process.inTrouble)
          process.othersGo ||= liftedBy !== process.number;
        if (hold !== undefined && (now < process.othersUntil || now < hold.nextAt)) continue;
        const notice = take();
        if (notice === undefined) continue;
        moved = true;
        const { row } = process;
        if (row.has(String(notice.id), now) && process.inFlight > 0) {
          later(AGAIN_MS, notice);
          continue;
        }
        const own = holds.get(notice.template);
        if (own !== undefined && !takeProbe(notice.template, own)) {
          const rest = Math.max(0, own.nextAt - now) + (notice.history === undefined ? 0 : 500);
          later(rest + random() * 500, notice);
          continue;
        }
        const isProbe = hold !== undefined;
        if (hold !== undefined) takeProbe(ALL, hold);
        process.inFlight++;
        notice.requests++;
        const begun = now;
        const { history } = notice;
        const contradicted = history !== undefined && process.acceptances.contradict(history);
        const result = answer(notice, begun, process.number, random());
        agenda.add(now + LATENCY_MS * (0.5 + random()), () => {
          process.inFlight--;
          end(process, notice, result, { begun, isProbe, contradicted });
          wake();
        });
      }
    }
  }

  function end(
    process: Process,
    notice: Notice,
    result: Answer,
    { begun, isProbe, contradicted }: Attempt,
  ): void {
    const { template, history } = notice;
    const job = String(notice.id);
    if (result === 'accepted') {
      finish(notice, 'accepted');
      seen.lastAcceptedAt = now;
      seen.accepted++;
      process.row.accepted(now);
      process.rows.accepted(template);
      process.acceptances.note('token', begun);
      process.inTrouble = false;
      process.othersGo = false;
      process.asides = 0;
      passed(template, process.number);
      if (isProbe) passed(ALL, process.number);
      return;
    }
    if (result === 'rejected' || result === 'refused' || result === 'page') {
      const kind = holds.get(ALL)?.kind;
      if (isProbe && (kind === 'address' || kind === 'throttled' || kind === 'unreachable')) {
        passed(ALL, process.number);
      }
      const tokenId = result === 'refused' ? 'token' : undefined;
      const rejectAfter = result === 'page' ? 4 : 1;
      const trouble = { hold: 'credentials', code: result, tokenId, rejectAfter } as const;
      const isHeld = () => holds.has(template);
      const verdict = judgeTrouble(trouble, history, contradicted, isHeld());
      const isEnded = verdict.kind === 'reject' || (result === 'rejected' && !isHeld());
      if (isEnded) finish(notice, 'rejected');
      if (!isHeld() && verdict.kind !== 'reject') {
        const row = process.rows.note(template, job, `400 ${result}`, {
          job,
          at: now,
          takeBack: isEnded ? () => Promise.resolve() : undefined,
        });
        if (row !== undefined) {
          place(template, 'credentials', process);
          for (const other of fleet) {
            takeBack(other === process ? row : other.rows.take(template, result), result);
          }
        }
      }
      if (isEnded) return;
      notice.troubles++;
      notice.history = withTrouble(trouble, history, contradicted, now);
      again(notice, verdict);
      return;
    }
    const kind = HOLD_OF[result];
    if (holds.has(ALL)) process.inTrouble = true;
    if (isProbe) {
      process.othersUntil = (holds.get(ALL)?.nextAt ?? now) + OTHERS_FIRST_MS;
    } else if (process.row.note(job, now) && !holds.has(ALL) && process.asideUntil <= now) {
      if (process.othersGo) {
        process.asides++;
        process.asideUntil = now + Math.min(PROBE_MIN_MS * 2 ** process.asides, PROBE_MAX_MS);
        agenda.add(process.asideUntil, wake);
      } else place(ALL, kind, process);
    }
    if (result === 'error') {
      seen.doubtful++;
      notice.possiblySent++;
      if (notice.possiblySent > RESENDS) finish(notice, 'unknown');
      else later(notice.possiblySent === 1 ? 2_000 : 300_000, notice);
      return;
    }
    const trouble = { hold: kind, code: result };
    const isHeld = holds.has(ALL) || process.asideUntil > now;
    const verdict = judgeTrouble(trouble, history, contradicted, isHeld);
    notice.troubles++;
    notice.history = withTrouble(trouble, history, contradicted, now);
    if (verdict.kind === 'reject') finish(notice, 'rejected');
    else again(notice, verdict);
  }

  function finish(notice: Notice, as: Notice['state']): void {
    notice.state = as;
    notice.endedAt = now;
  }

  function takeBack(row: readonly Refused[], code: string): void {
    for (const refused of row) {
      const notice = all[Number(refused.job)];
      if (notice === undefined || refused.takeBack === undefined) continue;
      finish(notice, 'waiting');
      notice.troubles++;
      notice.history = withTrouble({ code }, notice.history, false, refused.at);
      waiting.push(notice);
    }
  }

  function again(notice: Notice, verdict: TroubleVerdict): void {
    if (verdict.kind === 'again' && verdict.counted && ++notice.attempts >= ATTEMPTS) {
      finish(notice, 'rejected');
      return;
    }
    const { troubles } = notice;
    const isNear = verdict.kind === 'again' && verdict.backoff === 'near';
    const far = troubles <= 1 ? 1_000 : Math.min(5_000 * 4 ** (troubles - 2), 600_000);
    const ownMs = isNear ? Math.min(1_000 * 2 ** (troubles - 1), 16_000) : far;
    const hold = holds.get(ALL) ?? holds.get(notice.template);
    // While it is held it comes again when the others do.
    later(
      hold === undefined ? ownMs : Math.min(Math.max(hold.nextAt - now, 0) + 500, 2_000),
      notice,
    );
  }

  wake();
  for (let next = agenda.next(); next !== undefined; next = agenda.next()) {
    if (next.at > seconds * 1_000) break;
    now = next.at;
    next.run();
  }
  if (holds.has(ALL)) seen.heldMs += now - heldSince;
  return { ...seen, notices: all };
}
