import { z } from 'zod';
import type { Answer } from './answer.ts';
import { BATCH_ID } from './batch-id.ts';
import { NoticeQueueError } from './errors.ts';
import { MAX_DEPTH, sizeOfJson } from './parse-input.ts';
import {
  isFields,
  isName,
  MAX_CONTACTS,
  MAX_VALUE_LENGTH,
  noticeSchema,
  PHONE_NUMBER,
  SCHEDULE_TYPE,
  VARIABLE_NAME,
  type Fields,
} from './notice.ts';

/** Version of the job data. A worker refuses jobs of any other version. */
export const JOB_VERSION = 1;

/** Version of the data of a job whose notice is encrypted (payload/sealed-job.ts). */
export const SEALED_JOB_VERSION = 2;

/** The field of a job's hash with those that no worker can read: name and text of each, one a line. */
export const SET_ASIDE_FIELD = 'notices:unreadable';

export const JOB_NAME = 'send';

/**
 * Data of a job: the notice of one send request. Published as `docs/job.schema.json` for producers in
 * other languages.
 */
export const jobSchema = z.strictObject({
  v: z.literal(JOB_VERSION).describe('version of the job data'),
  notice: noticeSchema.describe(
    'the notice; unknown fields are sent to the service unchanged; one job is one send request',
  ),
  expiresAt: z
    .int()
    .positive()
    .optional()
    .describe('milliseconds since the epoch; after this time the job expires and is not sent'),
  delivery: z
    .literal('at-most-once')
    .optional()
    .describe('not sent again after an unknown outcome; default: at-least-once, which sends again'),
});

export type JobData = z.output<typeof jobSchema> & {
  /** Set where it is sent again; producers never set it. */
  readonly earlier?: EarlierRuns;
};

/** What is kept of a notice that a person has sent again. */
const earlierRuns = z.object({
  /** How many attempts of earlier runs the service may have accepted. */
  possiblySent: z.int().min(0),
  /** The service's trace ids for these, oldest first. */
  traceIds: z.array(z.string()).exactOptional(),
  /** The hash of its idempotency key. */
  key: z.string().exactOptional(),
});

export type EarlierRuns = Answer<z.output<typeof earlierRuns>>;

/** Whether a job's data says what is known of earlier runs in a readable way. */
export const isEarlier = (value: unknown): value is EarlierRuns =>
  earlierRuns.safeParse(value).success;

/**
 * Since when a job waits for its first attempt, in milliseconds since the epoch. BullMQ's own field `delay` is the wait for
 * the next attempt, not that for the first.
 */
export function waitsSince(job: {
  readonly timestamp: number;
  readonly opts: { readonly delay?: number | undefined };
}): number {
  return job.timestamp + (job.opts.delay ?? 0);
}

/** More characters than any job of a producer of this package; a request is built from them in memory. */
const MAX_CHARACTERS = 256 * 1024 * 1024;

/** The fields of a contact are nested below the notice, the list and the contact. */
const MAX_NOTICE_DEPTH = MAX_DEPTH + 3;

/**
 * Checks the data of a job, which any producer may have written: nesting, size and fields, before anything else
 * reads it. Fields that this version does not know pass; `scheduleType` has its default.
 *
 * @throws NoticeQueueError JOB_INVALID if this version cannot read the data
 */
export function readJobData(data: unknown): JobData {
  const problem = isFields(data)
    ? whyNotJob(data)
    : 'The job has no data object, or fields that cannot be read.';
  if (problem !== undefined) throw new NoticeQueueError('JOB_INVALID', problem);
  const job = data as JobData;
  // Producers of this package fill it in.
  const { scheduleType = SCHEDULE_TYPE } = job.notice as Partial<JobData['notice']>;
  return scheduleType === job.notice.scheduleType
    ? job
    : { ...job, notice: { ...job.notice, scheduleType } };
}

function whyNotJob(frame: Fields): string | undefined {
  const { v, notice, expiresAt, delivery, earlier } = frame;
  if (v !== JOB_VERSION) {
    const version = typeof v === 'number' ? v : 'none';
    return `The job has version ${version}, this worker knows up to ${SEALED_JOB_VERSION}.`;
  }
  if (!isFields(notice)) return 'The job has no notice.';
  const size = sizeOfJson(notice, MAX_NOTICE_DEPTH);
  if (size === Infinity) return 'The notice of the job is nested too deeply.';
  if (size > MAX_CHARACTERS) return 'The notice of the job is too large.';
  const problem = whyNotNotice(notice);
  if (problem !== undefined) return problem;
  if (expiresAt !== undefined && !(Number.isSafeInteger(expiresAt) && Number(expiresAt) > 0)) {
    return 'The expiresAt of the job is not a time.';
  }
  if (delivery !== undefined && delivery !== 'at-most-once') {
    return 'The delivery of the job is not at-most-once.';
  }
  return earlier === undefined || isEarlier(earlier)
    ? undefined
    : 'The earlier runs of the job cannot be read.';
}

const NAMES = ['scheduleType', 'chatSenderKey', 'senderKey'] as const;

/**
 * Why the notice of a job is not one; undefined if it is. The rules of `noticeSchema`, written by hand: workers
 * check every job, and parsing would copy each contact. A fuzz test compares the two.
 */
function whyNotNotice(notice: Fields): string | undefined {
  if (!isName(notice['templateCode'])) return 'The notice of the job has no template code.';
  for (const name of NAMES) {
    const value = notice[name];
    if (value !== undefined && !isName(value)) return `The ${name} of the job is not a name.`;
  }
  const { contacts } = notice;
  if (!Array.isArray(contacts)) return 'The job has no notice with contacts.';
  if (contacts.length === 0) return 'The notice of the job has no contacts.';
  if (contacts.length > MAX_CONTACTS)
    return `The notice of the job has over ${MAX_CONTACTS} contacts.`;
  const index = contacts.findIndex((contact) => !isContact(contact));
  return index < 0 ? undefined : `Contact ${index} of the job is not valid.`;
}

function isContact(contact: unknown): boolean {
  if (!isFields(contact)) return false;
  const number = Object.hasOwn(contact, 'contact') ? contact['contact'] : undefined;
  if (typeof number !== 'string' || !PHONE_NUMBER.test(number)) return false;
  return Object.keys(contact).every((name) => !VARIABLE_NAME.test(name) || isValue(contact[name]));
}

const isValue = (value: unknown) => typeof value === 'string' && value.length <= MAX_VALUE_LENGTH;

/** Version of the data of a chunk's job; other versions are treated as those of JOB_VERSION (job.ts). */
export const CHUNK_JOB_VERSION = 1;

export const CHUNK_JOB_NAME = 'chunk';

/** Data of a chunk's job: no contacts, only where the ledger stores them. Chunks of a batch are counted from 0. */
const chunkJob = z.strictObject({
  v: z.literal(CHUNK_JOB_VERSION),
  batch: z.string().regex(BATCH_ID),
  chunk: z.int().min(0),
});

export type ChunkJobData = Answer<z.output<typeof chunkJob>>;

/** Id of a chunk's job; queueing a chunk twice adds one job. */
export function chunkJobId({ batch, chunk }: Pick<ChunkJobData, 'batch' | 'chunk'>): string {
  return `c-${batch}-${chunk}`;
}

/**
 * Reads the data of a chunk's job.
 *
 * @throws NoticeQueueError JOB_INVALID if this version cannot read the data
 */
export function readChunkJob(data: unknown): ChunkJobData {
  const read = chunkJob.safeParse(data);
  if (read.success) return read.data;
  const v = isFields(data) ? data['v'] : undefined;
  throw new NoticeQueueError(
    'JOB_INVALID',
    typeof v === 'number' && v !== CHUNK_JOB_VERSION
      ? `The job of a chunk has version ${v}, this worker knows ${CHUNK_JOB_VERSION}.`
      : 'The job of a chunk has no batch and chunk.',
  );
}
