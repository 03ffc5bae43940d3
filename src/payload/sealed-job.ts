import { jobSeal, mayBePlain, NO_SEALING, seal, unreadable, unseal, type Sealing } from './seal.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import {
  isEarlier,
  readJobData,
  SEALED_JOB_VERSION,
  type EarlierRuns,
  type JobData,
} from '../contracts/job.ts';
import { isFields, isName, type Fields } from '../contracts/notice.ts';

/**
 * Data of a job whose notice is encrypted: the whole data of an unencrypted job, sealed, and beside it what look-ups
 * and scripts read. Contacts are replaced by their number.
 */
export interface SealedJobData {
  readonly v: typeof SEALED_JOB_VERSION;
  readonly notice: {
    readonly templateCode: string;
    readonly contacts: number;
    /** Base64; see seal.ts. */
    readonly sealed: string;
  };
  readonly expiresAt?: number;
  readonly delivery?: 'at-most-once';
  readonly earlier?: EarlierRuns;
}

/** The data of a job as a producer of this package stores it. */
export type StoredJobData = JobData | SealedJobData;

/** The data of a job as Redis stores it: encrypted if there is a key. @param id of the job */
export function sealJob(data: JobData, id: string, sealing: Sealing): StoredJobData {
  if (sealing.keys.length === 0) return data;
  const sealed = seal(Buffer.from(JSON.stringify(data)), jobSeal(sealing, id));
  if (sealed === undefined) return data;
  const { notice, expiresAt, delivery, earlier } = data;
  return {
    v: SEALED_JOB_VERSION,
    notice: {
      templateCode: notice.templateCode,
      contacts: notice.contacts.length,
      sealed: sealed.toString('base64'),
    },
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(delivery === undefined ? {} : { delivery }),
    ...(earlier === undefined ? {} : { earlier }),
  };
}

/**
 * The data of a job, decrypted and checked. Of what stands beside the sealed part only what is known of earlier runs counts.
 *
 * @throws NoticeQueueError JOB_INVALID, or PAYLOAD_UNREADABLE as unseal() does
 */
export function openJob(data: unknown, id: string, sealing: Sealing = NO_SEALING): JobData {
  const sealed = sealedOf(data);
  if (sealed === undefined) {
    const read = readJobData(data);
    mayBePlain(sealing);
    return read;
  }
  const opened = unseal(Buffer.from(sealed, 'base64'), jobSeal(sealing, id));
  let parsed: unknown;
  try {
    parsed = JSON.parse(opened.toString());
  } catch {
    throw unreadable('are damaged');
  }
  const read = readJobData(parsed);
  const { earlier } = data as Partial<SealedJobData>;
  return { ...read, ...(isEarlier(earlier) ? { earlier } : {}) };
}

/**
 * What is readable of the data of a job without a key, from any producer: no template where it is no name, and no contacts
 * where there is neither a list of them nor, in an encrypted one, their number.
 */
export function frameOf(data: unknown): { template: string; contacts: number } {
  const { templateCode, contacts }: Fields = fieldsOf(fieldsOf(data)['notice']);
  const size: unknown = Array.isArray(contacts) ? contacts.length : contacts;
  return {
    template: isName(templateCode) ? templateCode : '',
    contacts: Number.isSafeInteger(size) ? Math.max(0, Number(size)) : 0,
  };
}

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/**
 * The contacts in the data of a job, as far as it can be read: none if the job was deleted meanwhile, or no worker
 * can read it.
 *
 * @throws NoticeQueueError PAYLOAD_UNREADABLE if they are encrypted and cannot be decrypted
 */
export function contactsOfJob(
  text: string | null | undefined,
  id: string,
  sealing?: Sealing,
): JobData['notice']['contacts'] {
  let data: unknown;
  try {
    data = JSON.parse(text ?? '');
  } catch {
    return [];
  }
  if (sealedOf(data) === undefined) {
    const contacts: unknown = (data as Partial<JobData> | null)?.notice?.contacts;
    return Array.isArray(contacts) ? (contacts as JobData['notice']['contacts']) : [];
  }
  try {
    return openJob(data, id, sealing).notice.contacts;
  } catch (error) {
    if (error instanceof NoticeQueueError && error.code === 'JOB_INVALID') return [];
    throw error;
  }
}

/** The sealed part of a job's data; undefined where it has none. */
function sealedOf(data: unknown): string | undefined {
  const { v, notice } = (data ?? {}) as { readonly v?: unknown; readonly notice?: unknown };
  if (v !== SEALED_JOB_VERSION) return undefined;
  const { sealed } = (notice ?? {}) as { readonly sealed?: unknown };
  return typeof sealed === 'string' ? sealed : '';
}
