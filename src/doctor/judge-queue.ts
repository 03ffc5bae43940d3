import type { Batch } from '../batch/ledger/batch-record.ts';
import { nearEndOfRetention } from '../batch/ledger/retention.ts';
import { HOLDS } from '../contracts/hold.ts';
import { fail, ok, warn, type Finding } from './finding.ts';
import type { QueueSnapshot } from './queue-snapshot.ts';

/** A notice that waits for so long although workers run and nothing holds it. */
const WAITS_LONG_MS = 300_000;

/** A batch in which nothing moves for so long although contacts are pending. */
const STANDS_MS = 120_000;

/** A worker that did one thing for so long lets its locks and deadlines slip. */
const SLOW_LOOP_MS = 1_000;

/** One finding for each thing that keeps notices back, or is about to be lost. */
export function judgeQueue(signs: QueueSnapshot): Finding[] {
  return [
    hold(signs),
    workers(signs),
    versions(signs),
    waiting(signs),
    batches(signs),
    unknown(signs),
    retention(signs),
  ];
}

function hold({ hold }: QueueSnapshot): Finding {
  if (hold === undefined) return ok('queue.hold', 'nothing holds the queue');
  const { reason, remedy } = HOLDS[hold.kind];
  const says = `the queue is held (${hold.kind}): ${reason}`;
  // A person knows of it; to find out why it still stands is the worth of asking.
  return hold.kind === 'manual'
    ? warn('queue.hold', says, remedy)
    : fail('queue.hold', says, remedy);
}

function workers(signs: QueueSnapshot): Finding {
  const { workers } = signs;
  if (workers.length === 0) {
    const remedy = 'start one with "notices worker"';
    const left = signs.waiting + pendingOf(signs.batches);
    return left > 0
      ? fail('queue.workers', `no worker runs, and ${left} notices and contacts wait`, remedy)
      : warn('queue.workers', 'no worker runs; nothing waits', remedy);
  }
  const slow = workers.filter(({ loopDelayMs }) => loopDelayMs >= SLOW_LOOP_MS);
  if (slow.length > 0) {
    return warn(
      'queue.workers',
      `${slow.length} of ${workers.length} workers did not answer for a second or more lately`,
      'give them more processor time, or lower CONCURRENCY and BATCH_CONCURRENCY',
    );
  }
  return ok('queue.workers', `${workers.length} alive`);
}

function versions({ workers, version }: QueueSnapshot): Finding {
  const found = [...new Set(workers.map((worker) => worker.version))].sort();
  if (found.length > 1) {
    return warn(
      'queue.versions',
      `workers of different versions run: ${found.join(', ')}`,
      'update them all; workers before producers',
    );
  }
  const [one = version] = found;
  return one === version
    ? ok('queue.versions', version)
    : warn(
        'queue.versions',
        `workers are of version ${one}, this program is of ${version}`,
        'use one version; update workers before producers',
      );
}

function waiting({ waiting, oldestWaitingMs = 0, workers, hold }: QueueSnapshot): Finding {
  const minutes = Math.round(oldestWaitingMs / 60_000);
  const free = workers.length > 0 && hold === undefined;
  if (free && oldestWaitingMs > WAITS_LONG_MS) {
    return warn(
      'queue.waiting',
      `${waiting} notices wait, the oldest for ${minutes} min, although workers run and nothing holds them`,
      'start more workers or raise CONCURRENCY; where nothing moves at all, look at the log of the workers',
    );
  }
  return ok('queue.waiting', `${waiting} single notices wait`);
}

function batches({ batches, workers, hold, now }: QueueSnapshot): Finding {
  const open = batches.filter(({ counts }) => counts.pending > 0);
  const free = workers.length > 0 && hold === undefined;
  const stands = open.filter(
    ({ phase, movedAt }) =>
      free && (phase === 'sending' || phase === 'importing') && now - movedAt > STANDS_MS,
  );
  const [first] = stands;
  if (first !== undefined) {
    return warn(
      'queue.batches',
      `${stands.length} of ${open.length} open batches do not move, such as ${first.id}`,
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
    `of ${unknownNotices} notices and ${contacts} contacts of batches nobody knows whether the service took them`,
    'look them up at the service, then decide with "notices unknown" and "notices resolve"',
  );
}

function retention({ batches, now }: QueueSnapshot): Finding {
  const near = batches.filter((batch) => nearEndOfRetention(batch, now) !== undefined);
  const [first] = near;
  if (first === undefined) return ok('queue.retention', 'nothing undecided is about to be deleted');
  return warn(
    'queue.retention',
    `what failed of ${near.length} batches is about to be deleted, such as ${first.id}`,
    `export it with "notices failures ${first.id} --csv", or send it again with "notices redrive ${first.id}"`,
  );
}

const pendingOf = (batches: readonly Batch[]) =>
  batches.reduce((sum, { counts }) => sum + counts.pending, 0);
