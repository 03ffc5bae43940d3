import { whyNotRedrive } from '../../batch/failures/redrive-batch.ts';
import {
  resolveBatch,
  resolveNotices,
  type ResolveDecision,
  type ResolveReport,
} from '../resolve-unknown.ts';
import { listUnknownNotices, type UnknownFilter } from '../unknown.ts';
import { unknownOfBatch } from './parts.ts';
import { batchesOf, type UnknownContext } from './select.ts';

/** Result of resolving everything that matches a filter. */
export interface SelectedReport extends ResolveReport {
  /** Batches with contacts that match and cannot be sent again now, and why. */
  readonly refused: readonly { readonly batch: string; readonly reason: string }[];
}

/**
 * Resolves the single notices and the contacts of batches that match a filter ({@link selectUnknown} is its
 * preview). Those that appear during the call may be left as they are.
 *
 * @param signal stops it; what was not resolved is still listed
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or PAYLOAD_UNREADABLE; what was resolved before
 *   stays resolved, and is in the audit stream
 */
export async function resolveSelected(
  context: UnknownContext,
  filter: UnknownFilter,
  decision: ResolveDecision,
  signal?: AbortSignal,
): Promise<SelectedReport> {
  const { redis, keys } = context;
  const notices = filter.batch === undefined ? await listUnknownNotices(context, filter) : [];
  const sum = { ...(await resolveNotices(redis, keys, notices, decision, signal)) };
  const refused: { batch: string; reason: string }[] = [];
  for await (const batch of batchesOf(context, filter)) {
    if (batch.counts.unknown === 0) continue;
    if (signal?.aborted === true) return { ...sum, refused, stopped: true };
    const reason = decision.as === 'resend' ? whyNotRedrive(batch, Date.now()) : undefined;
    if (reason !== undefined) {
      const found = await unknownOfBatch(context, batch, filter);
      if (found !== undefined) refused.push({ batch: batch.id, reason });
      continue;
    }
    const done = await resolveBatch(context, batch, filter, decision, signal);
    sum.resolved += done.resolved;
    sum.contacts += done.contacts;
    sum.gone += done.gone;
    if (done.reason !== undefined) refused.push({ batch: batch.id, reason: done.reason });
    if (done.stopped) return { ...sum, refused, stopped: true };
  }
  return { ...sum, refused };
}
