import { createHash, randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { JOB_NAME, JOB_VERSION, type JobData } from '../contracts/job.ts';
import type { noticeSchema } from '../contracts/notice.ts';
import type { sendOptionsSchema } from '../contracts/send-options.ts';

/**
 * How a notice becomes jobs.
 *
 * Every job has an id of ours, so that a call that is repeated after a lost answer adds nothing. A
 * notice's id is `n-` and 16 random characters; with an idempotency key a fingerprint of the
 * content follows, by which a key that is used again for something else is noticed. A notice of
 * one chunk is one job with the notice's id; with more chunks the jobs are `<id>-0`, `<id>-1`, ...
 *
 * The key itself is never stored: BullMQ's deduplication gets a hash of it and the chunk's number.
 */
export interface PlannedNotice {
  readonly id: string;
  readonly contacts: number;
  readonly chunks: readonly JobData[];
  readonly keyHash: string | undefined;
  /** Empty without an idempotency key. */
  readonly fingerprint: string;
  readonly delay: number;
  readonly priority: number;
}

/** A job as `Queue.addBulk` takes it. */
export interface PlannedJob {
  readonly name: string;
  readonly data: JobData;
  readonly opts: {
    readonly jobId: string;
    readonly delay?: number;
    readonly priority?: number;
    readonly deduplication?: { readonly id: string; readonly ttl: number };
  };
}

const hash = (text: string) => createHash('sha256').update(text).digest('base64url');

/**
 * @param notice the checked notice
 * @param options its checked options
 * @param chunkSize contacts of one job at most
 * @param now milliseconds since the epoch
 */
export function planNotice(
  notice: z.output<typeof noticeSchema>,
  options: z.output<typeof sendOptionsSchema>,
  chunkSize: number,
  now: number,
): PlannedNotice {
  const { idempotencyKey, expiresAt } = options;
  const fingerprint = idempotencyKey === undefined ? '' : hash(JSON.stringify(notice)).slice(0, 8);
  const { contacts, ...frame } = notice;
  const chunks: JobData[] = [];
  for (let start = 0; start < contacts.length; start += chunkSize) {
    chunks.push({
      v: JOB_VERSION,
      notice: { ...frame, contacts: contacts.slice(start, start + chunkSize) },
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });
  }
  const id = `n-${randomBytes(12).toString('base64url')}`;
  return {
    id: fingerprint === '' ? id : `${id}.${fingerprint}`,
    contacts: contacts.length,
    chunks,
    keyHash: idempotencyKey === undefined ? undefined : hash(idempotencyKey).slice(0, 22),
    fingerprint,
    delay: options.sendAt === undefined ? (options.delay ?? 0) : Math.max(0, options.sendAt - now),
    priority: options.priority ?? 0,
  };
}

/** Id of a notice's job. */
export function jobId(noticeId: string, chunk: number, chunks: number): string {
  return chunks === 1 ? noticeId : `${noticeId}-${chunk}`;
}

/** The job of one chunk, under the id of the notice that owns it. */
export function planJob(
  notice: PlannedNotice,
  noticeId: string,
  chunk: number,
  idempotencyWindowMs: number,
): PlannedJob {
  const data = notice.chunks[chunk];
  if (data === undefined) throw new RangeError(`chunk ${chunk} of ${notice.chunks.length}`);
  return {
    name: JOB_NAME,
    data,
    opts: {
      jobId: jobId(noticeId, chunk, notice.chunks.length),
      ...(notice.delay > 0 ? { delay: notice.delay } : {}),
      ...(notice.priority > 0 ? { priority: notice.priority } : {}),
      ...(notice.keyHash === undefined
        ? {}
        : { deduplication: { id: `${notice.keyHash}-${chunk}`, ttl: idempotencyWindowMs } }),
    },
  };
}

/** What the queue's answer to a notice's first job says. */
export type HeadVerdict =
  | { readonly kind: 'new' }
  | { readonly kind: 'duplicate'; readonly noticeId: string }
  | { readonly kind: 'conflict' };

/**
 * Reads the id under which the queue holds a notice's first job: ours, or that of an earlier call
 * with the same idempotency key.
 */
export function judgeHead(notice: PlannedNotice, heldId: string): HeadVerdict {
  const chunks = notice.chunks.length;
  if (heldId === jobId(notice.id, 0, chunks)) return { kind: 'new' };
  const noticeId = chunks > 1 && heldId.endsWith('-0') ? heldId.slice(0, -2) : heldId;
  return noticeId.endsWith(`.${notice.fingerprint}`)
    ? { kind: 'duplicate', noticeId }
    : { kind: 'conflict' };
}
