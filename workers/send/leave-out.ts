import type { JobData } from '../../src/contracts/job.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { PossibleSends } from '../../src/contracts/possibly-sent.ts';
import type { ContactResult } from '../../src/service/response/answer-rules.ts';
import { sameForAll, settleNotice } from './contact-results.ts';
import { keepAll, mayGo, type HeldNotice, type NoticeEnd } from './held-notice.ts';
import {
  beginIntents,
  earlierOutcome,
  endIntents,
  knownAfter,
  uncountSentAgain,
  type IntentContext,
} from './notice-intent.ts';

/**
 * Ends the notices that may not be sent; returns the others.
 *
 * @param requests of rejected groups, and the answer of a refused request with all of them: counted with the first
 *   that is ended
 */
export async function leaveOut(
  notices: readonly HeldNotice[],
  requests: Pick<NoticeEnd, 'answer' | 'uncounted'>,
  context: IntentContext,
): Promise<readonly HeldNotice[]> {
  const left = notices.filter(mayGo);
  const out = notices.filter((notice) => !left.includes(notice));
  // The service may have accepted an attempt before the deadline: only the intents know.
  const asked = out.filter((notice) => notice.isLate() && notice.data.delivery === 'at-most-once');
  await beginIntents(
    asked.map(({ intent }) => intent),
    context,
  );
  // Of the requests so far, the service accepted none.
  await uncountSentAgain(
    out.map(({ intent }) => intent),
    undefined,
    context,
  );
  const ends = out.map((notice) => ({ notice, ...leftOutAs(notice) }));
  const lost = await keepAll(ends);
  await endIntents(
    ends
      .filter(({ notice }) => !lost.has(notice))
      .map(({ notice: { intent }, outcome, kept, sends }) => ({
        intent,
        outcome,
        answer: undefined,
        contacts: kept?.notice.contacts.length,
        sends,
      })),
    context,
  );
  for (const { notice, outcome, results } of ends.toReversed()) {
    notice.end({ ...(notice === out[0] ? requests : {}), outcome, results });
  }
  return left;
}

/** How a notice ends, with what its job keeps where that changes. */
interface LeftOut {
  readonly outcome: Outcome | undefined;
  readonly kept?: JobData;
  readonly sends?: PossibleSends;
  /** Of the contacts that are left of it. */
  readonly results?: readonly ContactResult[] | undefined;
}

/**
 * A notice of which some contacts are unknown already is unknown for these, too, whatever becomes of the others. When its
 * deadline passes, the others are rejected as `EXPIRED`.
 */
function leftOutAs(notice: HeldNotice): LeftOut {
  const outcome = outcomeOf(notice);
  const { data, intent } = notice;
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
function outcomeOf(notice: HeldNotice): Outcome | undefined {
  const { data, intent } = notice;
  const isAtLeastOnce = data.delivery === undefined;
  if (isAtLeastOnce && !notice.owned()) return undefined;
  const earlier = earlierOutcome(intent);
  if (earlier !== undefined || !notice.isLate()) return earlier;
  const neverStarted = isAtLeastOnce || intent.verdict === 'send';
  return neverStarted ? knownAfter({ kind: 'expired' }, intent) : undefined;
}
