import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { Queue } from 'bullmq';
import { withoutNumbers } from '../../audit.ts';
import { redisErrorCode } from '../../../redis/failure.ts';
import { showJob } from './show-job.ts';

/** Options of a job that are numbers or flags of BullMQ. */
const SHOWN_OPTIONS = ['attempts', 'delay', 'priority', 'timestamp', 'lifo', 'jobId'] as const;

/** A job without the free text that another producer may have written anywhere. */
function maskJob<Shown extends { toJSON(): unknown }>(job: Shown): Shown {
  const plain = job.toJSON() as Record<string, unknown>;
  const { failedReason, stacktrace, name, opts } = plain;
  const text = (value: unknown) => (typeof value === 'string' ? withoutNumbers(value) : undefined);
  const options = (opts ?? {}) as Record<string, unknown>;
  const shown = SHOWN_OPTIONS.flatMap((one) => {
    const value = options[one];
    return typeof value === 'number' || typeof value === 'boolean' ? [[one, value] as const] : [];
  });
  const masked = {
    ...plain,
    name: text(name),
    failedReason: text(failedReason),
    stacktrace: (Array.isArray(stacktrace) ? stacktrace : []).map(text),
    processedBy: undefined,
    deduplicationId: undefined,
    deferredFailure: undefined,
    opts: Object.fromEntries(shown),
  };
  return new Proxy(job, {
    get: (target, property) =>
      property === 'toJSON' ? () => masked : (Reflect.get(target, property) as unknown),
  });
}

/** A queue as the board shows it: read-only, and without what other producers have written into jobs. */
export class MaskedQueue extends BullMQAdapter {
  constructor(queue: Queue) {
    super(queue, { readOnlyMode: true });
    for (const field of ['data', 'returnValue', 'progress'] as const) {
      this.setFormatter(field, showJob);
    }
  }

  override async getJob(id: string): ReturnType<BullMQAdapter['getJob']> {
    const job = await super.getJob(id).catch((error: unknown) => {
      // An id such as `delayed` is the name of another key of BullMQ.
      if (redisErrorCode(error) === 'WRONGTYPE') return undefined;
      throw error;
    });
    return job === undefined || job === null ? job : maskJob(job);
  }

  override async getJobs(
    ...asked: Parameters<BullMQAdapter['getJobs']>
  ): ReturnType<BullMQAdapter['getJobs']> {
    return (await super.getJobs(...asked)).map(maskJob);
  }

  /** What another producer repeats; the board formats only the data of jobs. */
  override async getJobSchedulers(): ReturnType<BullMQAdapter['getJobSchedulers']> {
    const schedulers = await super.getJobSchedulers();
    return schedulers.map(({ template, ...scheduler }) => ({
      ...scheduler,
      ...(template === undefined
        ? {}
        : { template: { ...template, data: showJob(template.data) } }),
    }));
  }

  /** Free text: this program writes none. */
  override getJobLogs(): Promise<string[]> {
    return Promise.resolve([]);
  }
}
