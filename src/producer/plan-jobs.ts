import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { z } from 'zod';
import type { DeliveryPolicy } from '../contracts/delivery.ts';
import { JOB_NAME, JOB_VERSION, type JobData } from '../contracts/job.ts';
import type { CheckedNotice } from '../contracts/notice.ts';
import type { sendOptionsSchema } from '../contracts/send-options.ts';
import { hashKey } from '../notices/notice-ref.ts';

/**
 * A notice before it is queued; it becomes one job for each chunk of its contacts.
 *
 * Each job has an id of ours, so that a command that Redis receives twice adds nothing. The id of a
 * notice is `n-` and 16 random characters. The job of a notice with one chunk has the notice's id; with
 * more chunks the jobs are `<id>-0`, `<id>-1`, ...
 *
 * With an idempotency key the id is `n-<random>.<fingerprint>.<chunk size>` ({@link withFingerprint}). The
 * fingerprint detects a key that is reused for another notice; it is keyed with a secret of the account, because ids
 * are logged and there are so few phone numbers that all could be tried. The chunk size makes a repeated call cut the contacts as the first
 * one did.
 *
 * Each job has its own id as BullMQ's deduplication id, so that an add whose reply was lost can be
 * repeated ({@link ADD_ONCE_MS}). With an idempotency key they have it until the window after the due time has passed, and
 * the first job has a hash of that key instead; the key itself is not stored.
 */
export interface PlannedNotice {
  readonly id: string;
  readonly notice: CheckedNotice;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | undefined;
  readonly delivery: DeliveryPolicy;
  /** The most contacts of one job. */
  readonly chunkSize: number;
  /** Hash of the idempotency key. */
  readonly keyHash: string | undefined;
  /** Empty without an idempotency key. */
  readonly fingerprint: string;
  /** Milliseconds from `plannedAt`. */
  readonly delay: number;
  /** When it was planned: milliseconds since the epoch. */
  readonly plannedAt: number;
  readonly priority: number;
}

/** A job in the form of BullMQ's `Queue.addBulk`. */
export interface PlannedJob {
  readonly name: string;
  readonly data: JobData;
  readonly opts: {
    readonly jobId: string;
    readonly delay?: number;
    /** The delay counts from here, however much later the job is added. */
    readonly timestamp?: number;
    readonly priority?: number;
    readonly deduplication: { readonly id: string; readonly ttl: number };
  };
}

/** Id and chunk size of the notice that is in the queue: this one, or the first with the same key. */
export interface QueuedNotice {
  readonly id: string;
  readonly chunkSize: number;
}

/**
 * For how long Redis detects that an add is repeated, in milliseconds. A job id alone does not suffice: it
 * is free again when the job has been sent and removed. It costs about 170 bytes of Redis memory a job for
 * that time, and 60 while the job exists (measured).
 */
export const ADD_ONCE_MS = 120_000;

/**
 * The first job's id of a notice with an idempotency key: notice id, fingerprint, chunk size. Fingerprints of
 * earlier versions have 8 characters and no key.
 */
const KEYED_ID = /^(n-[\w-]{16}\.([\w-]{8}|h[\w-]{11})\.([1-9][0-9]{0,5}))(?:-0)?$/;

/** Settings of the queue for all notices, and the time. */
export interface PlanSettings {
  /** The most contacts of one job. */
  readonly chunkSize: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Used if the options have no `delivery`. */
  readonly delivery: DeliveryPolicy;
}

/** Plans the jobs of a notice from its checked options; {@link withFingerprint} completes it. */
export function planNotice(
  notice: CheckedNotice,
  options: z.output<typeof sendOptionsSchema>,
  { chunkSize, now, delivery: defaultDelivery }: PlanSettings,
): PlannedNotice {
  const { idempotencyKey, expiresAt, sendAt, delay = 0, priority = 0 } = options;
  const { delivery = defaultDelivery } = options;
  const random = `n-${randomBytes(12).toString('base64url')}`;
  return {
    id: random,
    notice,
    expiresAt,
    delivery,
    chunkSize,
    keyHash: idempotencyKey === undefined ? undefined : hashKey(idempotencyKey),
    fingerprint: '',
    delay: sendAt === undefined ? delay : Math.max(0, sendAt - now),
    plannedAt: now,
    priority,
  };
}

/** A notice with the id that it has with an idempotency key. @param secret of the account */
export function withFingerprint(plan: PlannedNotice, secret: string): PlannedNotice {
  if (plan.keyHash === undefined) return plan;
  const print = fingerprint(plan.notice, secret);
  return { ...plan, id: `${plan.id}.${print}.${plan.chunkSize}`, fingerprint: print };
}

/** Ids of a notice's jobs, in the order of its contacts. */
export function jobIds(plan: PlannedNotice, owner: QueuedNotice): string[] {
  return Array.from({ length: chunksOf(plan, owner) }, (_, chunk) => jobId(plan, owner, chunk));
}

function jobId(plan: PlannedNotice, owner: QueuedNotice, chunk: number): string {
  return chunksOf(plan, owner) === 1 ? owner.id : `${owner.id}-${chunk}`;
}

function chunksOf({ notice }: PlannedNotice, { chunkSize }: QueuedNotice): number {
  return Math.ceil(notice.contacts.length / chunkSize);
}

/** The job of one chunk, with the id of the queued notice. */
function planJob(
  plan: PlannedNotice,
  owner: QueuedNotice,
  chunk: number,
  idempotencyWindowMs: number,
): PlannedJob {
  const { notice, expiresAt, delivery, keyHash, delay, plannedAt, priority } = plan;
  const id = jobId(plan, owner, chunk);
  const start = chunk * owner.chunkSize;
  const contacts = notice.contacts.slice(start, start + owner.chunkSize);
  const jobs = chunksOf(plan, owner);
  return {
    name: JOB_NAME,
    data: {
      v: JOB_VERSION,
      // Right behind the version: a look-up reads it without parsing the rest (jobs-of-notice.ts).
      ...(jobs > 1 ? { jobs } : {}),
      notice: { ...notice, contacts },
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(delivery === 'at-most-once' ? { delivery } : {}),
    },
    opts: {
      jobId: id,
      ...(delay > 0 ? { delay, timestamp: plannedAt } : {}),
      ...(priority > 0 ? { priority } : {}),
      deduplication: {
        id: chunk === 0 ? (keyHash ?? id) : id,
        ttl: keyHash === undefined ? ADD_ONCE_MS : delay + idempotencyWindowMs,
      },
    },
  };
}

/**
 * The jobs of the chunks from `from` up to, not including, `to` (default: all following), in order.
 *
 * @param owner the queued notice that the jobs belong to
 */
export function* planJobs(
  plan: PlannedNotice,
  owner: QueuedNotice,
  from: number,
  to: number | undefined,
  idempotencyWindowMs: number,
): Generator<PlannedJob> {
  const end = to ?? chunksOf(plan, owner);
  for (let chunk = from; chunk < end; chunk++) {
    yield planJob(plan, owner, chunk, idempotencyWindowMs);
  }
}

/** Whether a notice is new, a duplicate, or conflicts with another one that has the same key. */
export type HeadVerdict =
  | { readonly kind: 'new'; readonly owner: QueuedNotice }
  | { readonly kind: 'duplicate'; readonly owner: QueuedNotice }
  | { readonly kind: 'conflict' };

/**
 * Compares a notice with the first job in the queue: its own, or that of an earlier call with the same
 * idempotency key.
 *
 * @param heldId id of that job
 */
export function judgeHead(plan: PlannedNotice, heldId: string): HeadVerdict {
  if (heldId === jobId(plan, plan, 0)) {
    return { kind: 'new', owner: { id: plan.id, chunkSize: plan.chunkSize } };
  }
  const [, id, print, size] = KEYED_ID.exec(heldId) ?? [];
  if (id === undefined || plan.keyHash === undefined) return { kind: 'conflict' };
  const own = print?.length === OLDER_LENGTH ? olderFingerprint(plan.notice) : plan.fingerprint;
  return print === own
    ? { kind: 'duplicate', owner: { id, chunkSize: Number(size) } }
    : { kind: 'conflict' };
}

/** Characters of a fingerprint without a key. */
const OLDER_LENGTH = 8;

/**
 * A short keyed hash of a notice, which detects an idempotency key that is reused for another notice. It
 * does not depend on the order of fields, which may differ when a caller reads the notice from its database
 * again; it depends on the order of contacts. 66 bits, after an `h`.
 */
export function fingerprint(notice: CheckedNotice, secret: string): string {
  const hash = createHmac('sha256', secret);
  for (const part of partsOf(notice)) hash.update(part);
  return `h${hash.digest('base64url').slice(0, 11)}`;
}

/** The fingerprint in the ids of jobs that an earlier version queued. */
export function olderFingerprint(notice: CheckedNotice): string {
  const hash = createHash('sha256');
  for (const part of partsOf(notice)) hash.update(part);
  return hash.digest('base64url').slice(0, OLDER_LENGTH);
}

function* partsOf({ contacts, ...frame }: CheckedNotice): Generator<string> {
  yield canonical(frame);
  for (const contact of contacts) yield canonical(contact);
}

/** JSON with sorted fields. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}
