import type { Job } from 'bullmq';
import { settleWithRetry } from '../../src/async/settle-with-retry.ts';
import type { JobData } from '../../src/contracts/job.ts';
import {
  failureOf,
  possiblySentAttempts,
  possiblySentTraceIds,
} from '../../src/contracts/possibly-sent.ts';
import type { Sealing } from '../../src/payload/seal.ts';
import { openJob } from '../../src/payload/sealed-job.ts';
import type { UnsureEnd } from '../queue/end-after-stall.ts';
import type { IntentContext } from './notice-intent.ts';

/**
 * Lists a notice as unknown that fails for the reason which an earlier run has stored, although another run that died may
 * have sent it. One that is listed is left: that run knew more.
 */
export function listUnsure(
  { intents, keepFailedMs, log }: Pick<IntentContext, 'intents' | 'keepFailedMs' | 'log'>,
  sealing: Sealing,
): UnsureEnd {
  return async (job, reason) => {
    const data = openedOrNone(job, sealing);
    if (data === undefined) return;
    const { stalledCounter } = job;
    const { delivery = 'at-least-once' } = data;
    const isOnce = delivery === 'at-most-once';
    // The intent of an at-most-once notice tells whether it may have been sent.
    const possiblySent = isOnce
      ? 1
      : possiblySentAttempts({ failedReason: reason, stalledCounter });
    if (possiblySent === 0) return;
    const traceIds = possiblySentTraceIds({ failedReason: reason });
    const facts = {
      template: data.notice.templateCode,
      contacts: data.notice.contacts.length,
      code: failureOf(reason).code,
      stage: traceIds.length > 0 ? 'answered' : 'begun',
      delivery,
      possiblySent,
      traceId: traceIds.at(-1),
      ...(traceIds.length > 1 ? { earlierTraceIds: traceIds.slice(0, -1) } : {}),
    } as const;
    await settleWithRetry(
      () =>
        intents.park(
          [{ job: job.id ?? '', nonce: '', facts }],
          isOnce ? 'open' : 'any',
          keepFailedMs,
        ),
      (error) => log.trouble('intent', error),
    ).catch(() => {});
  };
}

function openedOrNone(job: Job, sealing: Sealing): JobData | undefined {
  try {
    return openJob(job.data, job.id ?? '', sealing);
  } catch {
    return undefined;
  }
}
