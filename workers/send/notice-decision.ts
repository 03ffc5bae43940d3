import type { JobData, SettledContact } from '../../src/contracts/job.ts';
import type { Contact } from '../../src/contracts/notice.ts';
import {
  type Outcome,
  newestTraceIds,
  sendsOfAll,
  type PossibleSends,
} from '../../src/contracts/outcome.ts';
import { outcomeOfResults } from '../../src/service/outcome-table.ts';
import type { ContactResult } from '../../src/service/response/answer-rules.ts';
import type { JobLock } from '../queue/job-locks.ts';
import { UNLISTED } from './attempt.ts';
import type { Attempted } from './gate-job.ts';
import { earlierOutcome, knownAfter, maySend, type NoticeIntent } from './notice-intent.ts';

/** One run of the job of a single notice. */
export interface NoticeRun {
  readonly data: JobData;
  readonly intent: NoticeIntent;
  readonly lock: Pick<JobLock, 'valid'>;
  /** Whether its `expiresAt` has passed. */
  readonly isLate: () => boolean;
}

/** What becomes of a notice after a run. */
export interface NoticeDecision {
  /** Undefined when it is requeued and no notice is to blame. */
  readonly outcome: Outcome | undefined;
  /** What its job keeps where that changes: in the notice what is sent again, or what it has ended for. */
  readonly kept?: JobData;
  /** Where it ends as unknown: what the service may have accepted of the contacts for which it does. */
  readonly sends?: PossibleSends;
  /** Of the contacts that are left of it, where they have results of their own. */
  readonly results?: readonly ContactResult[] | undefined;
}

/** Whether a request with the notice may be made now. */
export const mayGo = ({ lock, isLate, intent }: NoticeRun): boolean =>
  lock.valid() && !isLate() && maySend(intent);

/** Decides what becomes of a notice, by its request or without one. */
export function decideNotice(
  run: NoticeRun,
  { outcome, answer }: Attempted = { outcome: undefined },
): NoticeDecision {
  if (outcome === undefined) return decideUnsent(run);
  const { data, intent } = run;
  const results = answer?.results ?? sameForAll(data, outcome);
  const settled =
    results === undefined ? undefined : settleNotice(data, results, intent, answer?.traceId);
  if (settled !== undefined) return { ...settled, results };
  return { outcome: knownAfter(outcome, intent), results: answer?.results };
}

/**
 * A notice of which some contacts are unknown already is unknown for these, too, whatever becomes of the others. When its
 * deadline passes, the others are rejected as `EXPIRED`.
 */
function decideUnsent(run: NoticeRun): NoticeDecision {
  const outcome = outcomeUnsent(run);
  const { data, intent } = run;
  const isPartlyUnknown = data.settled?.some(({ state }) => state === 'unknown') === true;
  if (!isPartlyUnknown || (outcome?.kind !== 'expired' && outcome?.kind !== 'unknown')) {
    return { outcome };
  }
  if (outcome.kind === 'expired') {
    const results = sameForAll(data, { kind: 'rejected', code: 'EXPIRED' }) ?? [];
    return { outcome, ...settleNotice(data, results, intent), results };
  }
  // The intent counts the attempts of at-least-once notices already.
  const kind = data.delivery === undefined ? 'rejected' : 'unknown';
  const results = sameForAll(data, { kind, code: outcome.code }) ?? [];
  return { ...settleNotice(data, results, intent), outcome };
}

/**
 * A process that was stopped for longer than a lock lasts knows only of the attempts before its own: another worker may
 * have had the job since then. So an at-least-once notice ends here only with the lock as evidence.
 */
function outcomeUnsent({ data, intent, lock, isLate }: NoticeRun): Outcome | undefined {
  const isAtLeastOnce = data.delivery === undefined;
  if (isAtLeastOnce && !lock.valid()) return undefined;
  const earlier = earlierOutcome(intent);
  if (earlier !== undefined || !isLate()) return earlier;
  const neverStarted = isAtLeastOnce || intent.verdict === 'send';
  return neverStarted ? knownAfter({ kind: 'expired' }, intent) : undefined;
}

/** What settling a notice needs to know of its run. */
type SettledRun = Pick<
  NoticeIntent,
  'possiblySent' | 'before' | 'traceIds' | 'mostResends' | 'lastAttempt'
>;

/**
 * Settles each contact of a single notice by its own result (docs/answers.md), in the order of the contacts of the
 * request. Those that are accepted, rejected or finally unknown leave the notice; as long as others are tried again, the
 * job keeps them beside it. Then the notice has the worst of their states: unknown, else rejected. It again contains the
 * contacts in that state, so that a decision or a redrive sends exactly these; the others stay beside it.
 *
 * | result | possibly sent before | becomes |
 * |---|---|---|
 * | accepted | either | accepted |
 * | rejected | no | rejected |
 * | rejected | yes | unknown |
 * | retry | either | tried again; with no attempts left as rejected |
 * | unknown | either | tried again; with at-most-once, or no attempts or resends left, unknown |
 *
 * An unknown contact keeps what was possibly sent of it: later requests of the notice do not contain it.
 *
 * @param traceId of the service, for the request with these results
 * @returns undefined where the job needs no change: all have the same result, or are tried again
 */
export function settleNotice(
  data: JobData,
  results: readonly ContactResult[],
  intent: SettledRun,
  traceId?: string,
): (NoticeDecision & { readonly outcome: Outcome; readonly kept: JobData }) | undefined {
  const { notice, settled: before = [], accepted: acceptedBefore = [], ...job } = data;
  const isSame = new Set(results.map(({ outcome }) => outcome)).size < 2;
  if (isSame && before.length === 0) return undefined;
  const accepted = [...acceptedBefore];
  const settled = [...before];
  const rest: Contact[] = [];
  const restResults: ContactResult[] = [];
  let unknownNow = false;
  for (const [index, contact] of notice.contacts.entries()) {
    const result = results[index] ?? UNLISTED;
    const { outcome, code } = result;
    const state = finalState(result, data, intent);
    if (state === 'accepted') accepted.push(contact.contact);
    else if (state === undefined) {
      rest.push(contact);
      restResults.push(result);
    } else {
      unknownNow ||= outcome === 'unknown';
      const sends = state === 'unknown' ? sendsOf(outcome, intent, traceId) : {};
      settled.push({ contact, state, code, ...sends });
    }
  }
  const keep = (contacts: readonly Contact[], beside: readonly SettledContact[]): JobData => ({
    ...job,
    notice: { ...notice, contacts: [...contacts] },
    ...(accepted.length > 0 ? { accepted } : {}),
    ...(beside.length > 0 ? { settled: beside } : {}),
  });
  if (rest.length === notice.contacts.length) return undefined;
  if (rest.length > 0) {
    return { outcome: outcomeOfResults(restResults), kept: keep(rest, settled) };
  }
  const worst = settled.find(({ state }) => state === 'unknown') ?? settled[0];
  if (worst === undefined) return undefined;
  const { state: kind, code } = worst;
  const isWorst = ({ state }: SettledContact) => state === kind;
  const kept = keep(
    settled.filter(isWorst).map(({ contact }) => contact),
    settled.filter((one) => !isWorst(one)),
  );
  if (kind === 'rejected') return { outcome: { kind, code }, kept };
  const outcome: Outcome = unknownNow
    ? { kind, code, final: true }
    : { kind, code, final: true, earlier: true };
  return { outcome, kept, sends: sendsOfAll(settled.filter(isWorst)) };
}

/** What the service may have accepted of a contact that becomes unknown with this result. */
function sendsOf(
  outcome: ContactResult['outcome'],
  { possiblySent, before, traceIds }: Pick<SettledRun, 'possiblySent' | 'before' | 'traceIds'>,
  traceId: string | undefined,
): Partial<PossibleSends> {
  const isNow = outcome === 'unknown';
  const own = isNow && traceId !== undefined ? [traceId] : [];
  const ids = newestTraceIds([...(before.traceIds ?? []), ...traceIds, ...own]);
  return {
    possiblySent: before.possiblySent + possiblySent + (isNow ? 1 : 0),
    ...(ids.length > 0 ? { traceIds: ids } : {}),
  };
}

/** The state in which a contact ends with this result; undefined where it is tried again. */
function finalState(
  { outcome: result, code }: ContactResult,
  { delivery }: JobData,
  intent: SettledRun,
): 'accepted' | SettledContact['state'] | undefined {
  const outcome = knownAfter(outcomeOfResults([{ outcome: result, code }]), intent);
  switch (outcome?.kind) {
    case 'accepted':
    case 'rejected':
      return outcome.kind;
    case 'unknown':
      return delivery !== undefined || intent.lastAttempt || outcome.final === true
        ? 'unknown'
        : undefined;
    case 'retry':
    case 'hold':
    case 'expired':
    case 'cancelled':
    case undefined:
      return intent.lastAttempt ? 'rejected' : undefined;
  }
}

/** The results of an answer that has none per contact, for the contacts that are left of a notice. */
export function sameForAll(
  { notice, settled }: JobData,
  outcome: Outcome,
): ContactResult[] | undefined {
  if (settled === undefined) return undefined;
  const { kind } = outcome;
  if (kind === 'hold' || kind === 'expired' || kind === 'cancelled') return undefined;
  if (kind === 'retry' && !outcome.counted) return undefined;
  const code = kind === 'accepted' ? '' : outcome.code;
  return notice.contacts.map(() => ({ outcome: kind, code, message: '' }));
}
