import type { Worker } from 'bullmq';
import type { WorkerConfig } from '../../src/config/config.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { jobSpan } from '../../src/tracing/spans.ts';
import { runChunk } from '../send/chunk-processor.ts';
import type { ChunkContext } from '../send/chunk-run.ts';
import { Coalescer } from '../send/coalescer.ts';
import { sendGroup, type GroupContext, type HeldNotice } from '../send/send-group.ts';
import { runNotice, type NoticeContext } from '../send/notice-processor.ts';
import type { InFlight } from '../queue/in-flight.ts';
import { AdaptiveConcurrency } from '../queue/adaptive-concurrency.ts';
import type { lanesOf } from '../queue/lanes.ts';
import { buildSendWorker } from '../queue/send-worker.ts';

/** What both BullMQ workers of a process stand on. */
export interface WorkerOptions {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly settings: WorkerConfig;
  readonly lanes: ReturnType<typeof lanesOf>;
  readonly inFlight: InFlight;
}

/** Builds the worker of single notices, not yet running: its jobs share requests where they may. */
export function buildNoticeWorker(
  { redis, keys, settings, lanes, inFlight }: WorkerOptions,
  parts: GroupContext & Pick<NoticeContext, 'lockGuard' | 'log' | 'now'>,
): Worker {
  const { concurrency: maxRequests, coalesceMaxContacts: maxContacts } = settings;
  const { lockGuard, log, now, stopping } = parts;
  const requests = { maxRequests, maxContacts, stopping };
  const coalescer = new Coalescer<HeldNotice>(requests, (group) => sendGroup(group, parts));
  const slots = new AdaptiveConcurrency(lanes.notices.concurrency, lanes.notices.mostJobs);
  const run = { coalescer, concurrency: slots, lockGuard, log, now, maxContacts };
  const worker = buildSendWorker(redis, keys, lanes.notices, settings, (job, lockToken) =>
    inFlight.run(job, () => jobSpan(job, 'notices', () => runNotice(job, lockToken, run))),
  );
  slots.watch(worker);
  return worker;
}

/** Builds the worker of batches' chunks, not yet running. */
export function buildChunkWorker(
  { redis, keys, settings, lanes, inFlight }: WorkerOptions,
  parts: ChunkContext,
): Worker {
  return buildSendWorker(redis, keys, lanes.chunks, settings, (job, lockToken, signal) =>
    inFlight.run(job, () => jobSpan(job, 'chunks', () => runChunk(job, lockToken, signal, parts))),
  );
}
