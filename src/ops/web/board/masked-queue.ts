import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { Queue } from 'bullmq';
import { showJob } from './show-job.ts';

/** A queue as the board shows it: read-only, and without what other producers have written into jobs. */
export class MaskedQueue extends BullMQAdapter {
  constructor(queue: Queue) {
    super(queue, { readOnlyMode: true });
    for (const field of ['data', 'returnValue', 'progress'] as const) {
      this.setFormatter(field, showJob);
    }
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
