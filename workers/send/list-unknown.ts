import type { Job } from 'bullmq';
import { settleWithRetry } from '../../src/async/repeat.ts';
import type { DeliveryPolicy, PossibleSends } from '../../src/contracts/outcome.ts';
import { readFrame } from '../../src/payload/sealed-job.ts';
import type { IntentContext } from './notice-intent.ts';

/**
 * Called before a job fails although one of its runs may have sent it.
 *
 * @param code with which it fails
 * @param sends what the service may have accepted of it, by its history
 * @returns whether it is listed as unknown now
 */
export type ListUnknown = (job: Job, code: string, sends: PossibleSends) => Promise<boolean>;

/**
 * Lists a notice as unknown that fails although one of its runs may have sent it: because no worker can read it any more,
 * or by an error in this program. One that is listed is left: that run knew more. Of an at-least-once notice whose template cannot be read either, nothing can be listed.
 */
export function listUnknown({
  intents,
  keepFailedMs,
  log,
}: Pick<IntentContext, 'intents' | 'keepFailedMs' | 'log'>): ListUnknown {
  return async (job, code, sends) => {
    const frame = frameOf(job);
    if (frame === undefined) return false;
    const isOnce = frame.delivery === 'at-most-once';
    // The intent of an at-most-once notice tells whether it may have been sent.
    const possiblySent = isOnce ? 1 : sends.possiblySent;
    if (possiblySent === 0) return false;
    const { traceIds } = sends;
    const facts = {
      template: frame.templateCode,
      contacts: frame.contacts,
      code,
      stage: traceIds.length > 0 ? 'answered' : 'begun',
      delivery: frame.delivery,
      possiblySent,
      traceId: traceIds.at(-1),
      ...(traceIds.length > 1 ? { earlierTraceIds: traceIds.slice(0, -1) } : {}),
    } as const;
    const listed = await settleWithRetry(
      () =>
        intents.park(
          [{ job: job.id ?? '', nonce: '', facts }],
          isOnce ? 'open' : 'any',
          keepFailedMs,
        ),
      (error) => log.trouble('intent', error),
    ).catch(() => []);
    return listed[0] === 1;
  };
}

/**
 * What is readable without a key: this worker may not have it. The intent of an at-most-once notice has to end, so that its
 * notice is listed with what can be read of it.
 */
function frameOf(job: Job) {
  const { delivery = 'at-least-once', notice } = (job.data ?? {}) as Frame;
  try {
    return { ...readFrame(job.data), delivery };
  } catch {
    if (delivery !== 'at-most-once') return undefined;
    const { templateCode, contacts } = notice ?? {};
    return {
      templateCode: typeof templateCode === 'string' ? templateCode : '',
      contacts: typeof contacts === 'number' ? contacts : 0,
      delivery,
    };
  }
}

interface Frame {
  readonly delivery?: DeliveryPolicy;
  readonly notice?: { readonly templateCode?: unknown; readonly contacts?: unknown } | null;
}
