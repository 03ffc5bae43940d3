import type { DeliveryPolicy } from '../../src/contracts/delivery.ts';
import type { JobData } from '../../src/contracts/job.ts';
import type { Notice } from '../../src/contracts/notice.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { Passage } from '../../src/fleet/hold/hold-gate.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';
import type { SendCallOptions, ServiceClient } from '../../src/service/client.ts';
import type { TokenSource } from '../../src/contracts/token.ts';
import { attemptOnce, type Attempted, type AttemptContext } from './attempt.ts';
import type { Group } from './coalescer.ts';
import { splitGroup, shouldSplit } from './split-group.ts';
import { knownAfter } from './possibly-sent.ts';
import {
  beginIntents,
  earlierOutcome,
  endIntents,
  maySend,
  type IntentContext,
  type NoticeIntent,
} from './notice-intent.ts';
import type { PendingNotice } from './pending-notices.ts';

/** A single notice in this process, from the fetch of its job to the end of the run. */
export interface HeldNotice extends PendingNotice {
  readonly data: JobData;
  readonly intent: NoticeIntent;
  /** Whether the job's lock is surely ours. */
  readonly owned: () => boolean;
  /** Whether its `expiresAt` has passed. */
  readonly isLate: () => boolean;
  /** Told what became of it; once. */
  readonly end: (end: NoticeEnd) => void;
  /** Told instead that the run broke in a way nobody foresaw. */
  readonly fail: (error: unknown) => void;
}

/** What became of a notice in one run. */
export interface NoticeEnd {
  /** Undefined when it goes back unsent and nobody is to blame. */
  readonly outcome: Outcome | undefined;
  readonly answer?: SendAnswer | undefined;
  /** How many notices its request carried. */
  readonly together?: number;
  /** Its request was a hold's probe. */
  readonly probe?: boolean;
  /** Requests of refused groups that are counted with it, beside its own. */
  readonly uncounted?: number;
  /** False where its request is counted with another notice that it carried. */
  readonly counted?: boolean | undefined;
}

/** What sending a group needs. */
export interface GroupContext extends AttemptContext, IntentContext {
  readonly service: Pick<ServiceClient, 'send'>;
  /** Lets what is asked of Redis next, up to the end of this turn, leave in one write. */
  readonly inOneWrite: () => void;
  /** Aborted when the worker stops: what has not been sent goes back. */
  readonly stopping: AbortSignal;
}

const GONE_BACK: NoticeEnd = { outcome: undefined };

/**
 * Makes the attempt of a group of notices that are alike: one request, or two when the token had to
 * be renewed. A lone notice is a group of one.
 *
 * - formed -> left out: right before each request, the notice whose lock may be lost, whose
 *   `expiresAt` has passed or whose intent is not ours to begin. It ends by itself; the others go on.
 * - formed -> gone back, all: the worker stops, or the queue is held; unspent. A hold's probe carries
 *   one notice, and the others go back.
 * - formed -> sent: intents at-most-once are recorded in one round trip right before.
 * - sent -> ended, each with the outcome of the request: accepted, retry, unknown, hold, rejected.
 * - sent -> in parts: rejected as a group (split-group.ts). Its intents stay begun meanwhile.
 *
 * Each notice that ends is told so, and its job then goes its own way.
 *
 * @returns the parts in which the group goes on
 */
export async function sendGroup(
  group: Group<HeldNotice>,
  parts: GroupContext,
): Promise<Group<HeldNotice>[]> {
  try {
    return await attemptGroup(group, parts);
  } catch (error) {
    for (const notice of group.notices) notice.fail(error);
    return [];
  }
}

async function attemptGroup(
  { notices, isPart, uncounted = 0 }: Group<HeldNotice>,
  parts: GroupContext,
): Promise<Group<HeldNotice>[]> {
  let ready = await leaveOut(notices, parts);
  if (ready.length === 0) return [];
  const passage = parts.stopping.aborted ? undefined : await parts.gate.enter();
  if (passage === undefined) {
    await endAll(ready, GONE_BACK, parts);
    return [];
  }
  const isProbe = passage.probe !== undefined;
  if (isProbe && ready.length > 1) {
    await endAll(ready.slice(1), GONE_BACK, parts);
    ready = ready.slice(0, 1);
  }

  let attempted: Attempted = { outcome: undefined };
  while (ready.length > 0) {
    attempted = await attempt(ready, parts);
    if (attempted.outcome !== undefined || parts.stopping.aborted) break;
    const left: readonly HeldNotice[] = await leaveOut(ready, parts);
    if (left.length === ready.length) break;
    ready = left;
  }
  const { outcome, answer } = attempted;
  if (
    outcome?.kind === 'rejected' &&
    shouldSplit(ready.length, answer?.status, deliveryOf(ready))
  ) {
    await parts.gate.leave(outcome, passage);
    parts.log.groupRefused(ready.length, outcome.code, answer);
    return splitGroup({ notices: ready, isPart, uncounted: uncounted + (answer?.requests ?? 0) });
  }
  const end = { outcome, answer, together: ready.length, probe: isProbe, uncounted };
  await endAll(ready, end, parts, passage);
  return [];
}

function attempt(ready: readonly HeldNotice[], parts: GroupContext): Promise<Attempted> {
  const intents = ready.map(({ intent }) => intent);
  const ownConnection = deliveryOf(ready) === 'at-most-once';
  const options = {
    send: (tokens: TokenSource, call: SendCallOptions) =>
      parts.service.send(together(ready), tokens, call),
    ownConnection,
    cancel: parts.stopping,
    owned: () => ready.every(mayGo),
    recordIntents: ownConnection ? () => beginIntents(intents, parts) : undefined,
  };
  return attemptOnce(options, parts);
}

/** One notice with the contacts of all: every other field of theirs is equal. */
function together(notices: readonly HeldNotice[]): Notice {
  const [first] = notices;
  if (first === undefined) throw new TypeError('a group of nobody');
  if (notices.length === 1) return first.data.notice;
  return { ...first.data.notice, contacts: notices.flatMap(({ data }) => data.notice.contacts) };
}

const deliveryOf = ([first]: readonly HeldNotice[]): DeliveryPolicy =>
  first?.data.delivery ?? 'at-least-once';

const mayGo = (notice: HeldNotice): boolean =>
  notice.owned() && !notice.isLate() && maySend(notice.intent);

/** Ends the notices that may not be sent; answers the others. */
async function leaveOut(
  notices: readonly HeldNotice[],
  parts: GroupContext,
): Promise<readonly HeldNotice[]> {
  if (notices.every(mayGo)) return notices;
  const left = notices.filter(mayGo);
  const out = notices.filter((notice) => !left.includes(notice));
  // An attempt before the deadline may have been taken: only the intents tell.
  const asked = out.filter((notice) => notice.isLate() && notice.data.delivery === 'at-most-once');
  await beginIntents(
    asked.map(({ intent }) => intent),
    parts,
  );
  const ends = out.map((notice) => ({ notice, outcome: leftOutAs(notice) }));
  await endIntents(
    ends.map(({ notice: { intent }, outcome }) => ({ intent, outcome, answer: undefined })),
    parts,
  );
  for (const { notice, outcome } of ends.toReversed()) notice.end({ outcome });
  return left;
}

function leftOutAs(notice: HeldNotice): Outcome | undefined {
  const { data, intent } = notice;
  const earlier = earlierOutcome(intent);
  if (earlier !== undefined || !notice.isLate()) return earlier;
  const neverBegun = data.delivery === undefined || intent.verdict === 'send';
  return neverBegun ? knownAfter({ kind: 'expired' }, intent) : undefined;
}

/** Ends notices by the outcome of their request: the delivery policy first, then the gate, then their jobs. */
async function endAll(
  notices: readonly HeldNotice[],
  end: NoticeEnd,
  parts: GroupContext,
  passage?: Passage,
): Promise<void> {
  const { outcome, answer } = end;
  const ends = notices.map((notice) => ({
    notice,
    intent: notice.intent,
    outcome: knownAfter(outcome, notice.intent),
    answer,
  }));
  await endIntents(ends, parts);
  if (passage !== undefined) await parts.gate.leave(outcome, passage);
  parts.inOneWrite();
  // Each that goes back is put before the one that went back just now.
  const goBack = outcome === undefined || outcome.kind === 'hold';
  for (const { notice, outcome: known } of goBack ? ends.toReversed() : ends) {
    const counted = notice === notices[0] ? end.counted : false;
    notice.end({ ...end, outcome: known, counted });
  }
}
