import { VERSION } from '../contracts/version.ts';
import { countOf } from '../format/format.ts';
import { writeTime } from '../format/time.ts';
import { judgementsOf, SLOW_LOOP_MS, type Judgement } from '../ops/answers/headline.ts';
import type { Status } from '../ops/status.ts';
import { fail, ok, warn, type CheckName, type Finding } from './finding.ts';

/** What was not accepted, and will be deleted soon: single notices, and batches with failed contacts. */
interface SoonDeleted {
  readonly notices: number;
  readonly batches: readonly string[];
}

/** Waiting time in milliseconds that is a warning while workers run and the queue is not held. */
const LONG_WAIT_MS = 300_000;

/** Checks what delays notices, and what will be deleted soon: what the headline is made of, and a few more. */
export function judgeQueue(status: Status, soon: SoonDeleted): Finding[] {
  const { workers, jobs, batches } = status;
  const judged = judgementsOf(status);
  const of = (check: CheckName, fine: string, more?: Finding): Finding => {
    const found = judged.find((one) => one.check === check);
    return found === undefined ? (more ?? ok(check, fine)) : findingOf(check, found);
  };
  return [
    of('queue.hold', 'the queue is not held'),
    of('queue.workers', `${workers.length} alive`, slowLoop(status)),
    versions(status),
    of('queue.settings', 'all workers have the same'),
    of('queue.waiting', `${countOf(jobs.waiting, 'single notice')} waiting`, longWait(status)),
    of('queue.batches', `${batches.open} open`),
    of('queue.unknown', 'no outcome is unknown'),
    retention(soon),
  ];
}

function findingOf(check: CheckName, found: Judgement): Finding {
  const { tone, title, text, command = '', section, remedy = `run "${command}"` } = found;
  // A manual hold is intended, and what is wrong with one list stops no other.
  const stops = tone === 'bad' && check !== 'queue.batches' && section !== 'manual';
  return (stops ? fail : warn)(check, `${title}. ${text}`.replace(/\.$/, ''), remedy);
}

function slowLoop({ workers }: Status): Finding | undefined {
  const slow = workers.filter(({ loopDelayMs }) => loopDelayMs >= SLOW_LOOP_MS);
  if (slow.length === 0) return undefined;
  return warn(
    'queue.workers',
    `the event loop of ${slow.length} of ${workers.length} workers was recently blocked for a second or more`,
    'give them more CPU time, or lower CONCURRENCY and BATCH_CONCURRENCY',
  );
}

function versions({ workers }: Status): Finding {
  const found = [...new Set([VERSION, ...workers.map(({ version }) => version)])].sort();
  if (found.length === 1) return ok('queue.versions', VERSION);
  return warn(
    'queue.versions',
    `workers, and this program with ${VERSION}, are of different versions: ${found.join(', ')}`,
    'update them all; workers before producers',
  );
}

function longWait({ jobs, oldestWaitingMs = 0, workers, hold, now }: Status): Finding | undefined {
  if (workers.length === 0 || hold !== undefined || oldestWaitingMs <= LONG_WAIT_MS) {
    return undefined;
  }
  const oldest = writeTime(now - oldestWaitingMs, now, (span) => `the oldest for ${span}`);
  return warn(
    'queue.waiting',
    `${countOf(jobs.waiting, 'notice')} waiting, ${oldest}, although workers are running and the queue is not held`,
    'start more workers or raise CONCURRENCY; if nothing is sent at all, check the log of the workers',
  );
}

function retention({ notices, batches }: SoonDeleted): Finding {
  const [first = ''] = batches;
  const found = [
    ...(notices === 0
      ? []
      : [{ what: countOf(notices, 'failed notice'), of: '--single --csv', again: '--single' }]),
    ...(first === ''
      ? []
      : [
          {
            what: `failed contacts of ${countOf(batches.length, 'batch', 'batches')}, such as of ${first},`,
            of: `${first} --csv`,
            again: `--batch ${first}`,
          },
        ]),
  ];
  if (found.length === 0) return ok('queue.retention', 'nothing unresolved will be deleted soon');
  const listOf = (text: (one: (typeof found)[number]) => string) => found.map(text).join(' and ');
  return warn(
    'queue.retention',
    `${listOf(({ what }) => what)} will be deleted soon`,
    `export them with ${listOf(({ of }) => `"notices failures ${of}"`)}, or send them again with ${listOf(({ again }) => `"notices decide ${again} --as resend"`)}; those that may have arrived only with --state unknown`,
  );
}
