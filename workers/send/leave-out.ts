import type { Outcome } from '../../src/contracts/outcome.ts';
import { mayGo, type HeldNotice, type NoticeEnd } from './held-notice.ts';
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
  const ends = out.map((notice) => ({ notice, outcome: leftOutAs(notice) }));
  await endIntents(
    ends.map(({ notice: { intent }, outcome }) => ({ intent, outcome, answer: undefined })),
    context,
  );
  for (const { notice, outcome } of ends.toReversed()) {
    notice.end(notice === out[0] ? { ...requests, outcome } : { outcome });
  }
  return left;
}

/**
 * Expired means that nothing was sent. A process that was stopped for longer than a lock lasts knows only of the
 * attempts before its own: another worker may have had the job since then, so only the lock is evidence.
 */
function leftOutAs(notice: HeldNotice): Outcome | undefined {
  const { data, intent } = notice;
  const earlier = earlierOutcome(intent);
  if (earlier !== undefined || !notice.isLate()) return earlier;
  const neverStarted = data.delivery === undefined ? notice.owned() : intent.verdict === 'send';
  return neverStarted ? knownAfter({ kind: 'expired' }, intent) : undefined;
}
