import { z } from 'zod';
import { NoticeQueueError } from './errors.ts';
import { noticeSchema } from './notice.ts';

/** Version of the job's shape. A worker refuses a job with another one instead of guessing. */
export const JOB_VERSION = 1;

/** Name of the BullMQ job. */
export const JOB_NAME = 'send';

/**
 * What a job carries: one send call's notice. Published as `docs/job.schema.json` for producers in
 * other languages.
 */
export const jobSchema = z.strictObject({
  v: z.literal(JOB_VERSION).describe('version of this shape'),
  notice: noticeSchema.describe(
    'the notice; unknown fields pass through to the service untouched; one job is one send call',
  ),
  expiresAt: z
    .int()
    .positive()
    .optional()
    .describe('milliseconds since the epoch; a job that has not been sent by then never is'),
  delivery: z
    .literal('at-most-once')
    .optional()
    .describe('never sent again once its outcome is unknown; without it, it is: at-least-once'),
});

/** A job's data, parsed. */
export type JobData = z.output<typeof jobSchema>;

/**
 * Reads a job's data. Contacts were checked when they were queued and pass to the service as they
 * are, so a worker checks the frame and not every contact again.
 *
 * @throws NoticeQueueError JOB_INVALID when the shape is not one that this version knows
 */
export function readJobData(data: unknown): JobData {
  const frame = data as {
    v?: unknown;
    notice?: { contacts?: unknown };
    expiresAt?: unknown;
    delivery?: unknown;
  } | null;
  if (typeof frame !== 'object' || frame === null || Array.isArray(frame)) {
    throw new NoticeQueueError('JOB_INVALID', 'The job holds no data object.');
  }
  if (frame.v !== JOB_VERSION) {
    throw new NoticeQueueError(
      'JOB_INVALID',
      `The job has version ${typeof frame.v === 'number' ? frame.v : 'none'}, this worker knows ${JOB_VERSION}.`,
    );
  }
  const { notice, expiresAt, delivery } = frame;
  if (typeof notice !== 'object' || notice === null || !Array.isArray(notice.contacts)) {
    throw new NoticeQueueError('JOB_INVALID', 'The job holds no notice with contacts.');
  }
  if (notice.contacts.length === 0) {
    throw new NoticeQueueError('JOB_INVALID', 'The notice of the job has no contacts.');
  }
  if (expiresAt !== undefined && !Number.isSafeInteger(expiresAt)) {
    throw new NoticeQueueError('JOB_INVALID', 'The expiresAt of the job is not a time.');
  }
  if (delivery !== undefined && delivery !== 'at-most-once') {
    throw new NoticeQueueError('JOB_INVALID', 'The delivery of the job is not at-most-once.');
  }
  return frame as JobData;
}
