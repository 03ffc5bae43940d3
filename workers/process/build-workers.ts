import type { WorkerConfig } from '../../src/config/config.ts';
import type { HoldSettings } from '../../src/fleet/hold/hold-gate.ts';
import type { SendWorker } from '../queue/send-job.ts';
import { buildSendWorker, type SendWorkerOptions } from '../queue/send-worker.ts';
import { runChunk } from '../send/chunk-job.ts';
import type { ChunkContext } from '../send/chunk-record.ts';
import { listUnknown } from '../send/list-unknown.ts';
import { runNotice, type NoticeContext } from '../send/notice-job.ts';
import { announceEnds } from './announce-ends.ts';

/** Builds the worker of single notices, not yet running. */
export function buildNoticeWorker(
  options: SendWorkerOptions & { readonly settings: WorkerConfig },
  shared: Omit<NoticeContext, 'listUnknown'>,
): SendWorker {
  const { redis, keys, settings } = options;
  const context = { ...shared, listUnknown: listUnknown(shared) };
  const announce = announceEnds(redis, keys, settings.noticeEvents);
  const forget = (job: string) => shared.histories.forget(job);
  return buildSendWorker({ ...options, announce, forget }, (job, lockToken) =>
    runNotice({ job, lockToken }, context),
  );
}

/** Builds the worker of batches' chunks, not yet running. */
export function buildChunkWorker(options: SendWorkerOptions, context: ChunkContext): SendWorker {
  const forget = (job: string) => context.histories.forget(job);
  return buildSendWorker({ ...options, forget }, (job, lockToken) =>
    runChunk({ job, lockToken }, context),
  );
}

/** The limits of holds, as configured. */
export const holdSettings = (worker: WorkerConfig): HoldSettings => ({
  probeMinMs: worker.holdProbeMinMs,
  probeMaxMs: worker.holdProbeMaxMs,
  retryAfterMaxMs: worker.retryAfterMaxMs,
});
