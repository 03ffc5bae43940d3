import { motionOf } from '../batch/ledger/batch-motion.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import { nearEndOfRetention } from '../batch/ledger/retention.ts';
import { countOf } from '../format/format.ts';
import { writeTime } from '../format/time.ts';
import { HOLDS, remedyOf } from '../contracts/hold.ts';
import { differingSettings, type SeenWorker } from '../fleet/heartbeat.ts';
import { fail, ok, warn, type Finding } from './finding.ts';
import { Ledger } from '../batch/ledger/ledger.ts';
import { VERSION } from '../contracts/version.ts';
import {
  nearFailedNotices,
  readFleet,
  type FleetSnapshot,
  type NearFailedNotices,
} from '../ops/snapshot.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';

/** The state of the queue, as it is judged. Times are milliseconds. */
export interface QueueSnapshot extends Pick<
  FleetSnapshot,
  'hold' | 'templateHolds' | 'sendWindows' | 'unknownNotices'
> {
  readonly workers: readonly SeenWorker[];
  /** Batches in which something waits or is unknown, or is about to be deleted; the newest first. */
  readonly batches: readonly Batch[];
  /** Those of them in which all that is left waits for its next attempt. */
  readonly backingOff: ReadonlySet<string>;
  /** The clock of this machine. */
  readonly now: number;
  /** Version of the program that judges. */
  readonly version: string;
  /** Single notices that wait. */
  readonly waiting: number;
  /** How long the oldest of them has waited; undefined where none waits. */
  readonly oldestWaitingMs: number | undefined;
  /** Failed single notices that are about to be deleted; undefined for none. */
  readonly nearFailed: NearFailedNotices | undefined;
}

/** @param keepFailedMs KEEP_FAILED_MS */
export async function readQueueSnapshot(
  redis: RedisClient,
  keys: Keys,
  keepFailedMs: number,
): Promise<QueueSnapshot> {
  const ledger = new Ledger(redis, keys);
  const { noticeJobs, noticeWaitingSince, ...facts } = await readFleet(
    { redis, keys },
    'hold',
    'templateHolds',
    'sendWindows',
    'workers',
    'unknownNotices',
    'noticeJobs',
    'noticeWaitingSince',
  );
  const now = Date.now();
  const batches: Batch[] = [];
  const backingOff = new Set<string>();
  for await (const batch of ledger.all()) {
    const { pending, unknown } = batch.counts;
    if (motionOf(batch, facts, now).stalled) {
      if ((await ledger.nextAttempt(batch)) !== undefined) backingOff.add(batch.id);
    }
    if (pending + unknown > 0 || nearEndOfRetention(batch, now) !== undefined) {
      batches.push(batch);
    }
  }
  return {
    ...facts,
    batches,
    backingOff,
    now,
    version: VERSION,
    waiting: noticeJobs.waiting,
    oldestWaitingMs:
      noticeWaitingSince === undefined ? undefined : Math.max(0, now - noticeWaitingSince),
    nearFailed: await nearFailedNotices(redis, keys, keepFailedMs, now),
  };
}

/** Waiting time in milliseconds that is a warning while workers run and the queue is not held. */
const LONG_WAIT_MS = 300_000;

/** Event loop delay from which on locks and deadlines of a worker are at risk, in milliseconds. */
const SLOW_LOOP_MS = 1_000;

/** Checks what delays notices, and what will be deleted soon. */
export function judgeQueue(snapshot: QueueSnapshot): Finding[] {
  return [
    hold(snapshot),
    workers(snapshot),
    versions(snapshot),
    settings(snapshot),
    waiting(snapshot),
    batches(snapshot),
    unknown(snapshot),
    retention(snapshot),
  ];
}

function hold({ hold, templateHolds }: QueueSnapshot): Finding {
  if (hold === undefined) {
    const [first] = templateHolds;
    if (first === undefined) return ok('queue.hold', 'the queue is not held');
    const { template, kind, code } = first;
    return warn(
      'queue.hold',
      `${countOf(templateHolds.length, 'template')} held, such as ${template} (${code}): ${HOLDS[kind].reason}`,
      remedyOf(kind, code).remedy,
    );
  }
  const { reason } = HOLDS[hold.kind];
  const { remedy } = remedyOf(hold.kind, hold.code);
  const code = hold.code === '' ? '' : `, ${hold.code}`;
  const says = `the queue is held (${hold.kind}${code}): ${reason}`;
  // A manual hold is intended, so it is only a warning.
  return hold.kind === 'manual'
    ? warn('queue.hold', says, remedy)
    : fail('queue.hold', says, remedy);
}

function workers(snapshot: QueueSnapshot): Finding {
  const { workers } = snapshot;
  if (workers.length === 0) {
    const remedy = 'start one with "notices worker"';
    const left = snapshot.waiting + pendingOf(snapshot.batches);
    return left > 0
      ? fail(
          'queue.workers',
          `no worker is running, and ${countOf(left, 'notice or contact waits', 'notices and contacts wait')}`,
          remedy,
        )
      : warn('queue.workers', 'no worker is running; nothing waits', remedy);
  }
  const slow = workers.filter(({ loopDelayMs }) => loopDelayMs >= SLOW_LOOP_MS);
  if (slow.length > 0) {
    return warn(
      'queue.workers',
      `the event loop of ${slow.length} of ${workers.length} workers was recently blocked for a second or more`,
      'give them more CPU time, or lower CONCURRENCY and BATCH_CONCURRENCY',
    );
  }
  return ok('queue.workers', `${workers.length} alive`);
}

function versions({ workers, version }: QueueSnapshot): Finding {
  const found = [...new Set(workers.map((worker) => worker.version))].sort();
  if (found.length > 1) {
    return warn(
      'queue.versions',
      `workers of different versions are running: ${found.join(', ')}`,
      'update them all; workers before producers',
    );
  }
  const [one = version] = found;
  return one === version
    ? ok('queue.versions', version)
    : warn(
        'queue.versions',
        `workers have version ${one}, this program has ${version}`,
        'use one version; update workers before producers',
      );
}

function settings({ workers }: QueueSnapshot): Finding {
  const differing = differingSettings(workers);
  if (differing.length === 0) return ok('queue.settings', 'all workers have the same');
  const words = differing.map(
    ({ variable, groups }) =>
      `${variable} (${groups.map((group) => group.join(', ')).join(' | ')})`,
  );
  return warn(
    'queue.settings',
    `workers differ in ${words.join('; ')}`,
    'give all workers the same configuration, and restart those that differ',
  );
}

function waiting({ waiting, oldestWaitingMs = 0, workers, hold, now }: QueueSnapshot): Finding {
  const free = workers.length > 0 && hold === undefined;
  if (free && oldestWaitingMs > LONG_WAIT_MS) {
    const oldest = writeTime(now - oldestWaitingMs, now, (span) => `the oldest for ${span}`);
    return warn(
      'queue.waiting',
      `${countOf(waiting, 'notice')} waiting, ${oldest}, although workers are running and the queue is not held`,
      'start more workers or raise CONCURRENCY; if nothing is sent at all, check the log of the workers',
    );
  }
  return ok('queue.waiting', `${countOf(waiting, 'single notice')} waiting`);
}

function batches(snapshot: QueueSnapshot): Finding {
  const { batches, backingOff, now } = snapshot;
  const open = batches.filter(({ counts }) => counts.pending > 0);
  const stalled = open.filter(
    (batch) => !backingOff.has(batch.id) && motionOf(batch, snapshot, now).stalled,
  );
  const [first] = stalled;
  if (first !== undefined) {
    return warn(
      'queue.batches',
      `${stalled.length} of ${open.length} open batches are stalled, such as ${first.id}`,
      `see "notices batch ${first.id}"`,
    );
  }
  return ok('queue.batches', `${open.length} open`);
}

function unknown({ unknownNotices, batches }: QueueSnapshot): Finding {
  const contacts = batches.reduce((sum, { counts }) => sum + counts.unknown, 0);
  if (unknownNotices + contacts === 0) return ok('queue.unknown', 'no outcome is unknown');
  return warn(
    'queue.unknown',
    `the outcome of ${countOf(unknownNotices, 'notice')} and ${countOf(contacts, 'contact')} of batches is unknown`,
    'look them up at the service, then decide: "notices unknown" lists them and says how',
  );
}

function retention({ batches, nearFailed, now }: QueueSnapshot): Finding {
  const near = batches.filter((batch) => nearEndOfRetention(batch, now) !== undefined);
  const [first] = near;
  const found: { readonly what: string; readonly failures: string; readonly redrive: string }[] =
    [];
  if (nearFailed !== undefined) {
    const what = countOf(nearFailed.count, 'failed notice');
    found.push({ what, failures: '--csv', redrive: '--notices' });
  }
  if (first !== undefined) {
    const what = `failed contacts of ${countOf(near.length, 'batch', 'batches')}, such as of ${first.id},`;
    found.push({ what, failures: `${first.id} --csv`, redrive: first.id });
  }
  if (found.length === 0) return ok('queue.retention', 'nothing unresolved will be deleted soon');
  const listOf = (text: (one: (typeof found)[number]) => string) => found.map(text).join(' and ');
  return warn(
    'queue.retention',
    `${listOf(({ what }) => what)} will be deleted soon`,
    `export them with ${listOf(({ failures }) => `"notices failures ${failures}"`)}, or send them again with ${listOf(({ redrive }) => `"notices redrive ${redrive}"`)}`,
  );
}

const pendingOf = (batches: readonly Batch[]) =>
  batches.reduce((sum, { counts }) => sum + counts.pending, 0);
