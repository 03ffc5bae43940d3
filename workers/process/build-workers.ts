import type { WorkerConfig } from '../../src/config/config.ts';
import type { HoldSettings } from '../../src/fleet/hold/hold-gate.ts';
import { AdaptiveConcurrency } from '../queue/adaptive-concurrency.ts';
import type { SendWorker } from '../queue/send-job.ts';
import { buildSendWorker, type SendWorkerOptions } from '../queue/send-worker.ts';
import type { ChunkContext } from '../send/chunks/chunk-attempt.ts';
import { runChunk } from '../send/chunks/chunk-job.ts';
import { Coalescer } from '../send/coalescer.ts';
import { runNotice, type NoticeContext } from '../send/notice-job.ts';
import type { HeldNotice } from '../send/held-notice.ts';
import { sendGroup, type GroupContext } from '../send/send-group.ts';
import { listUnknown } from '../send/list-unknown.ts';
import { announceEnds } from './announce-ends.ts';

/** Builds the worker of single notices, not yet running: its jobs share requests where they may. */
export function buildNoticeWorker(
  options: SendWorkerOptions & { readonly settings: WorkerConfig },
  context: GroupContext &
    Pick<NoticeContext, 'lockGuard' | 'log' | 'now' | 'returns' | 'sealing' | 'unknownResends'>,
): SendWorker {
  const { redis, keys, lane, settings } = options;
  const { concurrency: maxRequests, coalesceMaxContacts: maxContacts } = settings;
  const { lockGuard, log, now, returns, sealing, stopping, unknownResends } = context;
  const coalescer = new Coalescer<HeldNotice>({ maxRequests, maxContacts, stopping }, (group) =>
    sendGroup(group, context),
  );
  const concurrency = new AdaptiveConcurrency(lane.concurrency, lane.mostJobs);
  const list = listUnknown(context);
  const notices = {
    coalescer,
    concurrency,
    listUnknown: list,
    lockGuard,
    log,
    now,
    returns,
    sealing,
    maxContacts,
    unknownResends,
  };
  const announce = announceEnds(redis, keys, settings.noticeEvents);
  const worker = buildSendWorker({ ...options, announce, listUnknown: list }, (job, lockToken) =>
    runNotice({ job, lockToken }, notices),
  );
  concurrency.watch(worker);
  return worker;
}

/** Builds the worker of batches' chunks, not yet running. */
export function buildChunkWorker(options: SendWorkerOptions, context: ChunkContext): SendWorker {
  return buildSendWorker(options, (job, lockToken, signal) =>
    runChunk({ job, lockToken }, signal, context),
  );
}

/** The limits of holds, as configured. */
export const holdSettings = (worker: WorkerConfig): HoldSettings => ({
  probeMinMs: worker.holdProbeMinMs,
  probeMaxMs: worker.holdProbeMaxMs,
  retryAfterMaxMs: worker.retryAfterMaxMs,
  probeTtlMs: worker.sendDeadlineMs,
});
