import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { Queue } from 'bullmq';
import { withoutNumbers } from '../../audit.ts';
import { redisErrorCode } from '../../../redis/failure.ts';

/** A text without what may be a number. */
const shownText = (value: unknown) =>
  typeof value === 'string' ? withoutNumbers(value) : undefined;

/** An id without what may be a number. Dates and counters stay: jobs of one list differ by nothing else. */
const shownId = (value: unknown) =>
  typeof value === 'string' ? value.replaceAll(/\p{Nd}{9,}/gu, '[number]') : undefined;

/** A count or a time in milliseconds, which have fewer or more digits than a phone number. */
const shownNumber = (value: unknown) =>
  typeof value === 'number' && (value < 1_000_000 || value >= 1_000_000_000_000)
    ? value
    : undefined;

/** What is shown of the data of a job: fields that this package writes, also where another program wrote them. */
const SHOWN_DATA = new Map<string, (value: unknown) => unknown>([
  ['v', shownNumber],
  ['templateCode', shownText],
  ['scheduleType', shownText],
  ['batch', shownId],
  ['chunk', shownNumber],
  ['expiresAt', shownNumber],
  ['delivery', shownText],
  ['contacts', shownNumber],
  ['accepted', shownNumber],
]);

/** Options of a job that are numbers or flags of BullMQ. */
const SHOWN_OPTIONS = ['attempts', 'delay', 'priority', 'timestamp', 'lifo'] as const;

/** The data of a job as the board shows it: no contacts but their number, and no field that is not known. */
export function showJob(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return undefined;
  const shown = Object.entries(data).map(([name, value]: [string, unknown]) => {
    if (name === 'notice') return [name, showJob(value)];
    const plain = name === 'contacts' && Array.isArray(value) ? value.length : value;
    return [name, SHOWN_DATA.get(name)?.(plain)];
  });
  return Object.fromEntries(shown) as unknown;
}

/** A job without the free text that another producer may have written anywhere. */
function maskJob<Shown extends { toJSON(): unknown }>(job: Shown): Shown {
  const plain = job.toJSON() as Readonly<Record<string, unknown>>;
  const { id, failedReason, stacktrace, name } = plain;
  const opts = (plain['opts'] ?? {}) as Record<string, unknown>;
  const options = SHOWN_OPTIONS.filter((one) => !['object', 'string'].includes(typeof opts[one]));
  const masked = {
    ...plain,
    id: shownId(id),
    name: shownText(name),
    failedReason: shownText(failedReason),
    stacktrace: (Array.isArray(stacktrace) ? stacktrace : []).map(shownText),
    processedBy: undefined,
    deduplicationId: undefined,
    deferredFailure: undefined,
    opts: Object.fromEntries(options.map((one) => [one, opts[one]])),
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
    // A hash of BullMQ, such as `meta`, is no job: it has no time.
    if (job === undefined || job === null || Number.isNaN(job.toJSON().timestamp)) return undefined;
    return maskJob(job);
  }

  override async getJobs(
    ...asked: Parameters<BullMQAdapter['getJobs']>
  ): ReturnType<BullMQAdapter['getJobs']> {
    return (await super.getJobs(...asked)).map(maskJob);
  }

  /** What another producer repeats; the board formats only the data of jobs. */
  override async getJobSchedulers(): ReturnType<BullMQAdapter['getJobSchedulers']> {
    const schedulers = await super.getJobSchedulers();
    const shown = schedulers.map(({ template, ...scheduler }) => ({
      ...scheduler,
      ...(template && { template: { data: showJob(template.data) } }),
    }));
    const withTexts = (_name: string, value: unknown) => shownText(value) ?? value;
    return JSON.parse(JSON.stringify(shown), withTexts) as typeof shown;
  }

  /** A tree of jobs as BullMQ has them: this program writes none. */
  override getFlowProducer(): ReturnType<BullMQAdapter['getFlowProducer']> {
    return Promise.resolve(null);
  }

  /** Free text: this program writes none. */
  override getJobLogs(): Promise<string[]> {
    return Promise.resolve([]);
  }
}
