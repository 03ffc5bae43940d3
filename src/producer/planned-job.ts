import { createHmac, randomBytes } from 'node:crypto';
import { JOB_NAME, JOB_VERSION, type JobData } from '../contracts/job.ts';
import type { CheckedNotice } from '../contracts/notice.ts';
import type { CheckedOptions } from '../contracts/send-options.ts';
import { hashKey } from '../notices/notice-ref.ts';
import type { QueueSettings } from './options.ts';

/**
 * The job of a notice, in the form of BullMQ's `Queue.addBulk`.
 *
 * It has an id of ours, which is that of the notice: `n-` and 16 random characters, and with an idempotency key a dot
 * and the fingerprint of the notice, which detects a key that is reused for another one.
 *
 * Its deduplication id is its own id, so that an add whose reply was lost can be repeated ({@link ADD_ONCE_MS}); with an
 * idempotency key it is a hash of that key, until the window after the due time has passed. The key itself is not stored.
 */
export interface PlannedJob {
  readonly name: string;
  readonly data: JobData;
  readonly opts: {
    readonly jobId: string;
    readonly delay?: number;
    /** The delay counts from here, by Redis' clock, however much later the job is added. */
    readonly timestamp?: number;
    readonly priority?: number;
    readonly deduplication: { readonly id: string; readonly ttl: number };
  };
}

/**
 * For how long Redis detects that an add is repeated, in milliseconds. A job id alone does not suffice: it
 * is free again when the job has been sent and removed. It costs about 170 bytes of Redis memory a job for
 * that time, and 60 while the job exists (measured).
 */
export const ADD_ONCE_MS = 120_000;

/** What a plan takes from the queue: its settings, and what its Redis tells. */
interface PlanSettings extends Pick<QueueSettings, 'delivery' | 'idempotencyWindowMs'> {
  /** Redis' clock, in milliseconds since the epoch; read for a notice that is sent later. */
  readonly now: () => number;
  /** The secret of the account; read for a notice with an idempotency key. */
  readonly secret: string;
}

/** Whether a plan of these options needs the clock or the secret of the account. */
export const needsAccount = ({ idempotencyKey, delay = 0, sendAt }: CheckedOptions): boolean =>
  idempotencyKey !== undefined || delay > 0 || sendAt !== undefined;

export function planJob(
  notice: CheckedNotice,
  options: CheckedOptions,
  { delivery: usual, idempotencyWindowMs, now, secret }: PlanSettings,
): PlannedJob {
  const { idempotencyKey, expiresAt, sendAt, priority = 0, delivery = usual } = options;
  const isLater = sendAt !== undefined || (options.delay ?? 0) > 0;
  const timestamp = isLater ? Math.round(now()) : 0;
  const delay = sendAt === undefined ? (options.delay ?? 0) : Math.max(0, sendAt - timestamp);
  const random = `n-${randomBytes(12).toString('base64url')}`;
  const keyed = idempotencyKey !== undefined;
  const jobId = keyed ? `${random}.${fingerprint(notice, secret)}` : random;
  return {
    name: JOB_NAME,
    data: {
      v: JOB_VERSION,
      notice,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(delivery === 'at-most-once' ? { delivery } : {}),
    },
    opts: {
      jobId,
      ...(delay > 0 ? { delay, timestamp } : {}),
      ...(priority > 0 ? { priority } : {}),
      deduplication: keyed
        ? { id: hashKey(idempotencyKey), ttl: delay + idempotencyWindowMs }
        : { id: jobId, ttl: ADD_ONCE_MS },
    },
  };
}

/**
 * Compares a job with the one that the queue has: itself, or that of an earlier call with the same idempotency key, which
 * is a duplicate if it is of the same notice.
 *
 * @param heldId id of that job
 */
export function judge(job: PlannedJob, heldId: string): 'new' | 'duplicate' | 'conflict' {
  const { jobId } = job.opts;
  if (heldId === jobId) return 'new';
  const print = printOf(jobId);
  return print !== undefined && print === printOf(heldId) ? 'duplicate' : 'conflict';
}

const printOf = (id: string): string | undefined => /^n-[\w-]{16}\.([\w-]{11})$/.exec(id)?.[1];

/**
 * A short hash of a notice, 66 bits. It does not depend on the order of fields, which may differ when a caller reads the
 * notice from its database again; it depends on the order of contacts. It is keyed, because ids are logged and there are
 * so few phone numbers that all could be tried.
 */
export function fingerprint({ contacts, ...frame }: CheckedNotice, secret: string): string {
  const hash = createHmac('sha256', secret).update(canonical(frame));
  for (const contact of contacts) hash.update(canonical(contact));
  return hash.digest('base64url').slice(0, 11);
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
