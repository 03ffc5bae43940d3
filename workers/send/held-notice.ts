import type { DeliveryPolicy } from '../../src/contracts/delivery.ts';
import type { JobData } from '../../src/contracts/job.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { Entrant } from '../../src/fleet/hold/passage.ts';
import type { ContactResult } from '../../src/service/response/answer-rules.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';
import type { PendingNotice } from './coalescer.ts';
import { maySend, type NoticeIntent } from './notice-intent.ts';

/** A single notice in this process, from the fetch of its job to the end of the run. */
export interface HeldNotice extends PendingNotice {
  readonly data: JobData;
  readonly intent: NoticeIntent;
  /** Whether the lock of the job is surely ours. */
  readonly owned: () => boolean;
  /** Whether its `expiresAt` has passed. */
  readonly isLate: () => boolean;
  /** Records what its job keeps where its contacts have results of their own; answers whether the job has it. */
  readonly keep: (kept: JobData) => Promise<boolean>;
  /** Called exactly once with the result, unless `fail` is. */
  readonly end: (end: NoticeEnd) => void;
  /** Called instead when the run failed unexpectedly. */
  readonly fail: (error: unknown) => void;
}

/** The result of a notice in one run. */
export interface NoticeEnd {
  /** Undefined when it is requeued unsent and no notice is to blame. */
  readonly outcome: Outcome | undefined;
  readonly answer?: SendAnswer | undefined;
  /** How many notices its request contained. */
  readonly together?: number;
  /** Its request was the probe of a hold. */
  readonly probe?: boolean;
  /** Requests of rejected groups that are counted with it, besides its own. */
  readonly uncounted?: number;
  /** It leaves a probe to others for so many milliseconds. */
  readonly asideMs?: number | undefined;
  /** Of its own contacts, where the answer has results per contact. */
  readonly results?: readonly ContactResult[] | undefined;
  /** False where its request is counted with another notice. */
  readonly counted?: boolean | undefined;
}

/** The notices of a request at the gate. */
export function entrantOf(notices: readonly HeldNotice[]): Entrant {
  const { job = '', possiblySent = 0 } = notices[0]?.intent ?? {};
  return { job, possiblySent: possiblySent + (deliveryOf(notices) === 'at-most-once' ? 1 : 0) };
}

/** The delivery policy of the notices of a request: it is the same for all. */
export const deliveryOf = ([first]: readonly HeldNotice[]): DeliveryPolicy =>
  first?.data.delivery ?? 'at-least-once';

/** Whether a request with it may be made now. */
export const mayGo = (notice: HeldNotice): boolean =>
  notice.owned() && !notice.isLate() && maySend(notice.intent);

/**
 * Records what the jobs of some notices keep. The intents of those that cannot keep it any more stay open, so that the
 * next run lists them as unknown: it does not know which contacts were accepted.
 *
 * @returns these
 */
export async function keepAll(
  ends: readonly { readonly notice: HeldNotice; readonly kept?: JobData | undefined }[],
): Promise<ReadonlySet<HeldNotice>> {
  const lost = new Set<HeldNotice>();
  const keeps = ends.flatMap(({ notice, kept }) =>
    kept === undefined
      ? []
      : [notice.keep(kept).then((isKept) => (isKept ? undefined : lost.add(notice)))],
  );
  if (keeps.length > 0) await Promise.all(keeps);
  return lost;
}
