import { expect } from 'vitest';
import { readChunkJob, jobSchema, readJobData, type JobData } from '../../../src/contracts/job.ts';
import { NoticeQueueError } from '../../../src/contracts/errors.ts';
import { readNotice } from '../../../src/contracts/notice.ts';
import { requestBody } from '../../../src/service/request-body.ts';
import { nearly } from '../support/hostile.ts';
import { target } from '../support/target.ts';

const NOTICE = {
  templateCode: 'ORDER',
  scheduleType: 'DIRECTLY',
  senderKey: 'sender',
  contacts: [{ contact: '01055512345', var1: 'Kim' }, { contact: '01087654321' }],
};

/** A job as a producer in another language writes it. */
export const JOB = {
  v: 1,
  notice: NOTICE,
  expiresAt: 4_102_444_800_000,
  delivery: 'at-most-once',
};

const SETTINGS = {
  chatSenderKeyField: 'chatSenderKey',
};

/** What was read, or undefined where it was refused with this code. */
function readOr<Read>(code: string, read: () => Read): Read | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof NoticeQueueError && error.code === code) {
      expect(error.message).not.toContain('01055512345');
      return undefined;
    }
    throw error;
  }
}

/** Everything that a worker does with the data of a job before and after its request. */
function use(data: JobData): void {
  const body = requestBody(data.notice, SETTINGS);
  expect(body).toContain(JSON.stringify(data.notice.contacts[0]?.contact));
}

function readAsWorker(data: unknown): void {
  const job = readOr('JOB_INVALID', () => readJobData(data));
  if (job === undefined) return;
  use(job);
  // Without the fields that only workers and later versions write.
  const { v, notice, expiresAt, delivery } = job;
  expect(jobSchema.safeParse({ v, notice, expiresAt, delivery }).success).toBe(true);
}

export const JOB_TARGETS = [
  target({
    name: 'data of a job',
    inputs: nearly(JOB),
    law: readAsWorker,
  }),
  target({
    name: 'data of a chunk job',
    inputs: nearly({ v: 1, batch: 'some-batch', chunk: 7 }),
    law: (data) => void readOr('JOB_INVALID', () => readChunkJob(data)),
  }),
  target({
    name: 'notice of an application',
    inputs: nearly({ ...NOTICE, fields: { at: '2027', extra: [1] } }),
    law: (input) => {
      const notice = readOr('NOTICE_INVALID', () => readNotice(input));
      if (notice !== undefined) use(readJobData({ v: 1, notice }));
    },
  }),
];
