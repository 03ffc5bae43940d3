import { createHash, randomBytes } from 'node:crypto';
import type { z } from 'zod';
import type { DeliveryPolicy } from '../contracts/delivery.ts';
import { JOB_NAME, JOB_VERSION, type JobData } from '../contracts/job.ts';
import type { CheckedNotice } from '../contracts/notice.ts';
import type { sendOptionsSchema } from '../contracts/send-options.ts';

/**
 * How a notice becomes jobs.
 *
 * Every job has an id of ours, so that a command that reaches Redis twice adds nothing. A notice's
 * id is `n-` and 16 random characters. A notice of one chunk is one job with the notice's id; with
 * more chunks the jobs are `<id>-0`, `<id>-1`, ...
 *
 * With an idempotency key the id goes on with a fingerprint of the content, by which a key that is
 * used again for something else is noticed, and with the chunk size, so that a repeated call cuts
 * the contacts where the first one did, whatever its own chunk size is: `n-<random>.<print>.<size>`.
 *
 * The key is BullMQ's deduplication id of the first job (a hash of it: the key itself is never
 * stored). Every other job has its own id as that: it belongs to the notice that owns the key, and
 * not to a later one that takes the key over when the window ends.
 */
export interface PlannedNotice {
  readonly id: string;
  readonly notice: CheckedNotice;
  readonly expiresAt: number | undefined;
  readonly delivery: DeliveryPolicy;
  /** Contacts of one job at most. */
  readonly chunkSize: number;
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

/** Under which id, and cut into chunks of which size, the queue holds a notice. */
export interface Owner {
  readonly id: string;
  readonly chunkSize: number;
}

/** An id of a first job that has an idempotency key: the notice's id, fingerprint, chunk size. */
const KEYED_ID = /^(n-[\w-]{16}\.([\w-]{8})\.([1-9][0-9]{0,5}))(?:-0)?$/;

/**
 * @param notice the checked notice
 * @param options its checked options
 * @param chunkSize contacts of one job at most
 * @param now milliseconds since the epoch
 * @param defaultDelivery where the options say nothing
 */
export function planNotice(
  notice: CheckedNotice,
  options: z.output<typeof sendOptionsSchema>,
  chunkSize: number,
  now: number,
  defaultDelivery: DeliveryPolicy = 'at-least-once',
): PlannedNotice {
  const { idempotencyKey, expiresAt, sendAt, delay = 0, priority = 0 } = options;
  const { delivery = defaultDelivery } = options;
  const random = `n-${randomBytes(12).toString('base64url')}`;
  const print = idempotencyKey === undefined ? '' : fingerprint(notice);
  return {
    id: print === '' ? random : `${random}.${print}.${chunkSize}`,
    notice,
    expiresAt,
    delivery,
    chunkSize,
    keyHash: idempotencyKey === undefined ? undefined : hashKey(idempotencyKey),
    fingerprint: print,
    delay: sendAt === undefined ? delay : Math.max(0, sendAt - now),
    priority,
  };
}

function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 22);
}

/** Ids of a notice's jobs, in the order of its contacts. */
export function jobIds(plan: PlannedNotice, owner: Owner): string[] {
  return Array.from({ length: chunksOf(plan, owner) }, (_, chunk) => jobId(plan, owner, chunk));
}

function jobId(plan: PlannedNotice, owner: Owner, chunk: number): string {
  return chunksOf(plan, owner) === 1 ? owner.id : `${owner.id}-${chunk}`;
}

function chunksOf({ notice }: PlannedNotice, { chunkSize }: Owner): number {
  return Math.ceil(notice.contacts.length / chunkSize);
}

/** The job of one chunk, under the id of the notice that owns it. */
function planJob(
  plan: PlannedNotice,
  owner: Owner,
  chunk: number,
  idempotencyWindowMs: number,
): PlannedJob {
  const { notice, expiresAt, delivery, keyHash, delay, priority } = plan;
  const id = jobId(plan, owner, chunk);
  const start = chunk * owner.chunkSize;
  const contacts = notice.contacts.slice(start, start + owner.chunkSize);
  return {
    name: JOB_NAME,
    data: {
      v: JOB_VERSION,
      notice: { ...notice, contacts },
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(delivery === 'at-most-once' ? { delivery } : {}),
    },
    opts: {
      jobId: id,
      ...(delay > 0 ? { delay } : {}),
      ...(priority > 0 ? { priority } : {}),
      ...(keyHash === undefined
        ? {}
        : {
            deduplication: { id: chunk === 0 ? keyHash : id, ttl: idempotencyWindowMs },
          }),
    },
  };
}

/**
 * The jobs of some chunks, in order.
 *
 * @param from the first chunk
 * @param to the chunk after the last; all the others when undefined
 */
export function* planJobs(
  plan: PlannedNotice,
  owner: Owner,
  from: number,
  to: number | undefined,
  idempotencyWindowMs: number,
): Generator<PlannedJob> {
  const end = to ?? chunksOf(plan, owner);
  for (let chunk = from; chunk < end; chunk++) {
    yield planJob(plan, owner, chunk, idempotencyWindowMs);
  }
}

/** What the queue's answer to a notice's first job says. */
export type HeadVerdict =
  | { readonly kind: 'new'; readonly owner: Owner }
  | { readonly kind: 'duplicate'; readonly owner: Owner }
  | { readonly kind: 'conflict' };

/**
 * Reads the id under which the queue holds a notice's first job: ours, or that of an earlier call
 * with the same idempotency key.
 */
export function judgeHead(plan: PlannedNotice, heldId: string): HeadVerdict {
  if (heldId === jobId(plan, plan, 0)) {
    return { kind: 'new', owner: { id: plan.id, chunkSize: plan.chunkSize } };
  }
  const [, id, print, size] = KEYED_ID.exec(heldId) ?? [];
  return id === undefined || print !== plan.fingerprint
    ? { kind: 'conflict' }
    : { kind: 'duplicate', owner: { id, chunkSize: Number(size) } };
}

/** Length of a fingerprint, in characters of base64url: 48 bits. */
const LENGTH = 8;

/**
 * A short hash of what a notice says, by which an idempotency key that is used again for something
 * else is noticed. The order of fields does not count: a caller that reads the notice anew from its
 * database may get them in another one. The order of contacts does.
 */
export function fingerprint({ contacts, ...frame }: CheckedNotice): string {
  const hash = createHash('sha256').update(canonical(frame));
  for (const contact of contacts) hash.update(canonical(contact));
  return hash.digest('base64url').slice(0, LENGTH);
}

/** JSON with the fields of every object in one order. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}
