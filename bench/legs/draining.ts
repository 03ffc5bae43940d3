import { readFile } from 'node:fs/promises';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { quantile } from '../harness/spread.ts';
import type { Stage } from '../harness/stage.ts';
import { contactAt, noticeTo } from '../work.ts';
import { importContacts } from './chunks.ts';
import { PAYLOAD_KEY, startOurs } from './single-sends.ts';

/** How long a notice that somebody waits for takes while a batch drains. */
export interface Draining {
  /** Notices that were sent meanwhile. */
  readonly notices: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The batch's own pace. */
  readonly contactsPerSecond: number;
}

interface Reached {
  readonly reached: number;
  readonly atMs: number;
}

/** Between two notices. */
const EVERY_MS = 5;
/** The numbers of the notices are beyond those of the batch. */
const FIRST_NUMBER = 50_000_000;

/**
 * Imports a batch, lets a worker drain it, and hands over a notice every few milliseconds. Each is
 * followed from the producer's call until the worker's log says that the service has taken it.
 */
export async function draining(stage: Stage, contacts: number): Promise<Draining> {
  const prefix = 'bench';
  await importContacts(stage, prefix, contacts);
  const queue = new NoticeQueue({
    redis: { url: stage.redisUrl },
    prefix,
    payloadKey: PAYLOAD_KEY,
  });
  const calledAt = new Map<string, number>();
  stage.service.send({ reach: 1_000 });
  // The slots that a worker has by default.
  const worker = startOurs(stage, prefix, { CONCURRENCY: '32', BATCH_CONCURRENCY: '8' });
  try {
    const began = await stage.service.next<Reached>('reached');
    stage.service.send({ reach: contacts });
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
    stage.service.send({ reach: contacts + calls.length });
    await stage.service.next('reached');
    const ms = ended.atMs - began.atMs;
    return {
      ...summaryOf(await acceptedAt(worker.logFile, calledAt)),
      contactsPerSecond: (1_000 * contacts) / ms,
    };
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
    if (took.length >= calledAt.size || tries >= 100) return took;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function summaryOf(took: readonly number[]): Omit<Draining, 'contactsPerSecond'> {
  return {
    notices: took.length,
    p50Ms: quantile(took, 0.5),
    p99Ms: quantile(took, 0.99),
    maxMs: Math.max(...took),
  };
}
