import type { CancelSignal } from '../../src/contracts/cancel-signal.ts';
import type { Notice } from '../../src/contracts/notice.ts';
import type { Passage } from '../../src/fleet/hold/passage.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { outcomeOfResults } from '../../src/service/outcome-table.ts';
import type { ContactResult } from '../../src/service/response/answer-rules.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';
import { attemptOnce, type AttemptContext } from './attempt.ts';
import { splitGroup, type Group } from './coalescer.ts';
import { outcomeOfRequest, sameForAll, settleNotice } from './contact-results.ts';
import {
  deliveryOf,
  entrantOf,
  keepAll,
  mayGo,
  type HeldNotice,
  type NoticeEnd,
} from './held-notice.ts';
import { leaveOut } from './leave-out.ts';
import {
  beginIntents,
  countSentAgain,
  endIntents,
  knownAfter,
  uncountSentAgain,
  type IntentContext,
} from './notice-intent.ts';
import type { Attempted } from './send-gate.ts';
import { shouldSplit } from './should-split.ts';

/** What sending groups needs; a worker process composes it once. */
export interface GroupContext extends AttemptContext, IntentContext {
  readonly service: Pick<ServiceClient, 'send'>;
  /** Writes the Redis commands from now to the end of this turn of the event loop at once. */
  readonly inOneWrite: () => void;
  /** Aborted when the worker stops: what has not been sent is requeued. */
  readonly stopping: CancelSignal;
}

const REQUEUED: NoticeEnd = { outcome: undefined };

/**
 * Makes the attempt of a group of notices: one request, or two when the token had to be refreshed. A
 * single notice is a group of one.
 *
 * - grouped -> left out: right before each request, a notice whose lock may be lost, whose `expiresAt` has
 *   passed or whose intent could not be recorded. It ends by itself; the others are sent.
 * - grouped -> requeued, all: the worker stops, or the queue is held; no attempt is counted. The probe of a
 *   hold contains one notice; the others are requeued.
 * - grouped -> sent: the intents of at-most-once notices are recorded in one round trip right before.
 * - sent -> ended, each with the outcome of the request: accepted, retry, unknown, hold, rejected.
 * - grouped -> split into single notices, when an error in this program kept the request from being made.
 * - sent -> split, when it was rejected as a group (should-split.ts). Its intents stay open meanwhile.
 *
 * @returns the parts in which the group is sent again
 */
export async function sendGroup(
  group: Group<HeldNotice>,
  context: GroupContext,
): Promise<Group<HeldNotice>[]> {
  try {
    return await attemptGroup(group, context);
  } catch (error) {
    for (const notice of group.notices) notice.fail(error);
    return [];
  }
}

async function attemptGroup(
  { notices, isPart, uncounted = 0 }: Group<HeldNotice>,
  context: GroupContext,
): Promise<Group<HeldNotice>[]> {
  const { gate, stopping } = context;
  let left = uncounted;
  const leaveSomeOut = (all: readonly HeldNotice[], answer?: SendAnswer) => {
    const requests = { answer, uncounted: left };
    left = 0;
    return leaveOut(all, requests, context);
  };
  let ready = notices.every(mayGo) ? notices : await leaveSomeOut(notices);
  if (ready.length === 0) return [];
  const passage = stopping.aborted ? undefined : await gate.enter(entrantOf(ready));
  if (passage === undefined || 'asideMs' in passage) {
    // Each requeued notice is put before the one that was requeued just now.
    await endAll(ready.slice(1), REQUEUED, context);
    const first = { ...REQUEUED, uncounted: left, asideMs: passage?.asideMs };
    await endAll(ready.slice(0, 1), first, context);
    return [];
  }
  const isProbe = passage.probe !== undefined;
  if (isProbe && ready.length > 1) {
    await endAll(ready.slice(1), REQUEUED, context);
    ready = ready.slice(0, 1);
  }

  let attempted: Attempted = { outcome: undefined };
  while (ready.length > 0) {
    attempted = await attempt(ready, isProbe, context);
    if (attempted.outcome !== undefined || stopping.aborted) break;
    if (ready.every(mayGo)) break;
    ready = await leaveSomeOut(ready, attempted.answer);
  }
  const { outcome, answer } = attempted;
  const { length: size } = ready;
  const { status } = answer ?? {};
  if (
    (outcome?.kind === 'rejected' &&
      answer?.results === undefined &&
      shouldSplit({ kind: 'group', size, status, delivery: deliveryOf(ready) })) ||
    (outcome?.kind === 'hold' && outcome.ownAfter !== undefined && size > 1)
  ) {
    // One of them may be the cause: only a notice in a request of its own is evidence.
    context.log.groupRefused(size, outcome.code, answer);
    return splitGroup({ notices: ready, isPart, uncounted: left + (answer?.requests ?? 0) });
  }
  if (attempted.isUnsendable === true && size > 1) {
    await gate.leave(attempted, passage, '');
    // One by one, so that only the notice that causes the error spends an attempt.
    return splitGroup({ notices: ready, isPart: true, uncounted: left });
  }
  const { requestedAt } = attempted;
  const end = { outcome, answer, requestedAt, together: size, probe: isProbe, uncounted: left };
  await endAll(ready, end, context, passage);
  return [];
}

function attempt(
  ready: readonly HeldNotice[],
  isProbe: boolean,
  context: GroupContext,
): Promise<Attempted> {
  const isOnce = deliveryOf(ready) === 'at-most-once';
  const intents = ready.map(({ intent }) => intent);
  const recordIntents = () => (isOnce ? beginIntents : countSentAgain)(intents, context);
  const recorded = isOnce || intents.some(({ possiblySent }) => possiblySent > 0);
  return attemptOnce(
    {
      job: ready[0]?.intent.job ?? '',
      send: (tokens, options) => context.service.send(together(ready), tokens, options),
      // A kept connection that has died says nothing about the service.
      ownConnection: isOnce || isProbe,
      cancel: context.stopping,
      owned: () => ready.every(mayGo),
      recordIntents: recorded ? recordIntents : undefined,
    },
    context,
  );
}

/** One notice with the contacts of all: every other field of theirs is equal. */
function together(notices: readonly HeldNotice[]): Notice {
  const [first] = notices;
  if (first === undefined) throw new TypeError('empty group');
  if (notices.length === 1) return first.data.notice;
  return { ...first.data.notice, contacts: notices.flatMap(({ data }) => data.notice.contacts) };
}

/**
 * Ends notices by the outcome of their request: first the intents, then the gate, then the jobs. Where the
 * outcome depends on evidence, the gate comes first.
 */
async function endAll(
  notices: readonly HeldNotice[],
  end: NoticeEnd & Pick<Attempted, 'requestedAt'>,
  context: GroupContext,
  passage?: Passage,
): Promise<void> {
  const { answer } = end;
  const leave = () =>
    passage === undefined
      ? Promise.resolve(end.outcome)
      : context.gate.leave(
          {
            outcome: outcomeOfRequest(end.outcome, answer?.results),
            answer,
            requestedAt: end.requestedAt,
          },
          passage,
          notices[0]?.intent.job ?? '',
          notices.slice(1).map(({ intent }) => intent.job),
        );
  const isClaim = end.outcome?.kind === 'hold';
  let outcome = isClaim ? await leave() : end.outcome;
  const results = resultsByNotice(notices, answer);
  const ends = notices.map((notice, index) => {
    const { data, intent } = notice;
    const given = results?.[index];
    const likely = given ?? sameForAll(data, outcome);
    const settled =
      likely === undefined ? undefined : settleNotice(data, likely, intent, answer?.traceId);
    const own = given ?? (settled === undefined ? undefined : likely);
    const known =
      settled?.outcome ??
      knownAfter(own === undefined ? outcome : outcomeOfResults(own), notice.intent);
    const { kept, sends } = settled ?? {};
    const contacts = kept?.notice.contacts.length;
    return { notice, intent, outcome: known, answer, results: own, kept, contacts, sends };
  });
  // First: whatever happens next, what is final of a contact is not sent again.
  const lost = await keepAll(ends);
  const takenBack = uncountSentAgain(
    ends.map(({ intent }) => intent),
    outcomeOfRequest(end.outcome, answer?.results),
    context,
  );
  if (takenBack !== undefined) await takenBack;
  const recorded = endIntents(
    ends.filter(({ notice }) => !lost.has(notice)),
    context,
  );
  if (recorded !== undefined) await recorded;
  if (!isClaim) outcome = await leave();
  context.inOneWrite();
  // Each requeued notice is put before the one that was requeued just now.
  const isRequeued = outcome === undefined || outcome.kind === 'hold';
  const { together = 1, probe = false, uncounted = 0, asideMs } = end;
  for (const { notice, intent, outcome: known, results: own } of isRequeued
    ? ends.toReversed()
    : ends) {
    notice.end({
      outcome: own === undefined ? knownAfter(outcome, intent) : known,
      answer,
      together,
      probe,
      uncounted,
      asideMs,
      results: own,
      counted: notice === notices[0] ? end.counted : false,
    });
  }
}

/** The results of each notice: those of the answer have the order of the contacts of the request. */
function resultsByNotice(
  notices: readonly HeldNotice[],
  answer: SendAnswer | undefined,
): (readonly ContactResult[])[] | undefined {
  const results = answer?.results;
  if (results === undefined) return undefined;
  let from = 0;
  return notices.map(({ data }) => {
    const to = from + data.notice.contacts.length;
    const own = results.slice(from, to);
    from = to;
    return own;
  });
}
