import { shellWord } from '../../format/format.ts';
import { writeInstant } from '../../format/time.ts';
import { closedHours } from '../../contracts/send-windows.ts';
import { HOLDS, remedyOf, type Hold, type HoldKind } from '../../contracts/hold.ts';
import type { Batch } from './batch-record.ts';
import type { LedgerReader } from './ledger-reader.ts';

/** A batch without progress for this long, although nothing holds it, is stalled; in milliseconds. */
export const STALLED_AFTER_MS = 60_000;

/**
 * How long nothing of a batch may have changed before a worker takes its jobs for lost, or the attempts of a cancelled
 * one for dead; in milliseconds. Longer than one request can last: each one begins with a change.
 *
 * @param sendDeadlineMs longest time of one attempt
 */
export const restartAfterMs = (sendDeadlineMs: number): number =>
  Math.max(STALLED_AFTER_MS, 2 * sendDeadlineMs);

export interface BatchMotion {
  /** Why nothing of it is sent, and what to do about it; undefined where it is being sent or has ended. */
  readonly standstill: string | undefined;
  /** It makes no progress, and nothing is known that would explain it. */
  readonly stalled: boolean;
}

/** As far as its record and the fleet tell: one that is stalled may only wait for its next attempt. */
export function motionOf(batch: Batch, around: SendingFleet, now: number): BatchMotion {
  const blocked = blockedReason(batch, around, now);
  if (blocked !== undefined) return { standstill: blocked, stalled: false };
  const stalled = isStalled(batch, around, now);
  return { standstill: stalled ? STALLED : undefined, stalled };
}

/**
 * Reads whether a batch makes progress: of one that would be stalled it reads the jobs. Whether they are lost a worker
 * decides by another question ({@link LedgerReader.hasItsJobs}): jobs that no worker takes are there.
 */
export async function readMotion(
  ledger: Pick<LedgerReader, 'nextAttempt'>,
  batch: Batch,
  around: SendingFleet,
  now: number,
): Promise<BatchMotion> {
  const motion = motionOf(batch, around, now);
  const at = motion.stalled ? await ledger.nextAttempt(batch) : undefined;
  return at === undefined ? motion : { standstill: backingOff(at), stalled: false };
}

const backingOff = (at: number) =>
  `what is left of it waits for its next attempt, from ${writeInstant(at)} on`;

const STALLED =
  'it is stalled: no progress for more than a minute, although workers are running and nothing holds the queue; run "notices doctor", and restart the workers if it stays';

/**
 * Whether a batch seems stalled: it is open, contacts are pending, nothing has changed for
 * {@link STALLED_AFTER_MS}, its rate would allow sending, and no worker has a job in progress: behind the
 * chunks of other batches it only waits for its turn. It remains stalled when a worker has queued its jobs
 * again, until the first of them is taken.
 */
function isStalled(
  { phase, counts, movedAt, nextAt, restartedAt }: Batch,
  { workers }: SendingFleet,
  now: number,
): boolean {
  const isOpen = phase === 'importing' || phase === 'sending';
  if (!isOpen || counts.pending === 0 || workers.some(({ active }) => active > 0)) return false;
  const untouched = restartedAt > 0 && movedAt <= restartedAt;
  return untouched || now - Math.max(movedAt, nextAt) >= STALLED_AFTER_MS;
}

/** What decides, beside the batch itself, whether it is being sent. */
export interface SendingFleet {
  readonly workers: readonly { readonly active: number }[];
  readonly hold?: Hold | undefined;
  readonly templateHolds: readonly {
    readonly template: string;
    readonly kind: HoldKind;
    readonly code: string;
  }[];
  /** SEND_WINDOWS of the workers. */
  readonly sendWindows?: string | undefined;
  /** Whether a process is importing the batch. Default: one is. */
  readonly importing?: boolean;
}

/**
 * Why no contact of a batch is being sent, and what to do about it: the first reason that applies; undefined if the
 * batch is being sent or has ended. A cancelled one waits for workers only while attempts of it are under way.
 */
function blockedReason(batch: Batch, around: SendingFleet, now: number): string | undefined {
  const { phase, counts, id } = batch;
  if (phase === 'finished') return undefined;
  if (phase === 'paused') {
    const { startAt, startMissedAt } = batch;
    const resume = `"notices resume ${id}"`;
    if (startAt > 0) return `it starts at ${writeInstant(startAt)}; ${resume} starts it now`;
    if (startMissedAt > 0) {
      return `its start at ${writeInstant(startMissedAt)} was missed by more than an hour; ${resume} starts it now`;
    }
    return `it is paused; ${resume} continues it`;
  }
  if (counts.pending === 0) return phase === 'importing' ? importReason(batch, around) : undefined;
  if (around.workers.length === 0) {
    return `no worker is running, so nothing is sent; start one with "notices worker"`;
  }
  if (phase === 'cancelled') return undefined;
  if (around.hold !== undefined) {
    const { kind, code } = around.hold;
    const { remedy } = remedyOf(kind, code);
    return `the queue is held (${kind}): ${HOLDS[kind].reason}; ${remedy}`;
  }
  const held = around.templateHolds.find(({ template }) => template === batch.templateCode);
  if (held !== undefined) {
    const { kind, code } = held;
    return `its template is held (${code}): ${HOLDS[kind].reason}; ${remedyOf(kind, code).remedy}`;
  }
  const closed = closedHours(around.sendWindows ?? '', batch.templateCode, now);
  return closed && `it is waiting for ${closed.words}, its sending hours (SEND_WINDOWS)`;
}

function importReason(batch: Batch, { importing = true }: SendingFleet): string {
  return importing
    ? 'its import has not finished'
    : `its import stopped before the end of the list; run the same import again: "${continueImport(batch)}" continues it where it stopped`;
}

/** The command that continues an import which stopped. FILE: a list that was no file. */
export function continueImport({
  id,
  templateCode,
  reading,
}: Pick<Batch, 'id' | 'templateCode' | 'reading'>): string {
  const flags = Object.entries(reading?.flags ?? {}).map(([name, value]) =>
    value === '' ? ` --${name}` : ` --${name} ${shellWord(value)}`,
  );
  const file = reading === undefined || reading.file === '' ? 'FILE' : shellWord(reading.file);
  return `notices import ${file} --template ${shellWord(templateCode)} --batch ${id}${flags.join('')}`;
}
