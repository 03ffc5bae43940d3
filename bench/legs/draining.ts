import { readFile } from 'node:fs/promises';
import { quantile } from '../harness/spread.ts';
import type { Stage } from '../harness/stage.ts';
import type { Reached } from '../harness/timed.ts';
import { count, table } from '../report/tables.ts';
import { contactAt, noticeTo } from '../work.ts';
import { importContacts, openQueue, startOurs } from './queues.ts';

const CONTACTS = 1_000_000;

/** Between two notices. */
const EVERY_MS = 5;
/** The numbers of the notices are beyond those of the batch. */
const FIRST_NUMBER = 50_000_000;

/**
 * Imports a batch, lets a worker drain it, and hands over a notice every few milliseconds. Each is
 * followed from the producer's call until the worker's log says that the service has taken it.
 */
export async function draining(stage: Stage): Promise<string> {
  await stage.clear();
  await importContacts(stage, CONTACTS);
  const queue = openQueue(stage);
  const calledAt = new Map<string, number>();
  stage.service.send({ reach: 1_000 });
  // The slots that a worker has by default.
  // By default an acceptance has no line of its own.
  const worker = startOurs(stage, {
    CONCURRENCY: '32',
    BATCH_CONCURRENCY: '8',
    LOG_LEVEL: 'debug',
  });
  try {
    const began = await stage.service.next<Reached>('reached');
    stage.service.send({ reach: CONTACTS });
    const drained = new AbortController();
    const end = stage.service.next<Reached>('reached', 300_000);
    void end.finally(() => drained.abort()).catch(() => {});
    const calls: Promise<void>[] = [];
    while (!drained.signal.aborted) {
      const notice = noticeTo([contactAt(FIRST_NUMBER + calls.length)]);
      const at = Date.now();
      calls.push(
        queue.send(notice).then(({ id }) => {
          calledAt.set(id, at);
        }),
      );
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    await Promise.all(calls);
    const ended = await end;
    stage.service.send({ reach: CONTACTS + calls.length });
    await stage.service.next('reached');
    const took = await acceptedAt(worker.logFile, calledAt);
    const figures = [quantile(took, 0.5), quantile(took, 0.99), Math.max(...took)];
    const perSecond = (1_000 * CONTACTS) / (ended.atMs - began.atMs);
    return table(
      [
        'notices',
        'median ms',
        '99th percentile ms',
        'longest ms',
        'contacts of the batch a second',
      ],
      [[count(took.length), ...figures.map(count), count(perSecond)]],
    );
  } finally {
    await queue.close();
    await worker.stop();
  }
}

/** Milliseconds from each call to the line that the worker logged of its acceptance. */
async function acceptedAt(
  logFile: string,
  calledAt: ReadonlyMap<string, number>,
): Promise<number[]> {
  for (let tries = 0; ; tries++) {
    const took = (await readFile(logFile, 'utf8'))
      .split('\n')
      .filter((line) => line.includes('"outcome":"accepted"'))
      .flatMap((line) => {
        const { job, time } = JSON.parse(line) as { job: string; time: string };
        const called = calledAt.get(job);
        return called === undefined ? [] : [Date.parse(time) - called];
      });
    // The log is written a moment after the fact.
    if (took.length >= calledAt.size) return took;
    if (tries >= 100) throw new Error(`the log has ${took.length} of ${calledAt.size} notices`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
