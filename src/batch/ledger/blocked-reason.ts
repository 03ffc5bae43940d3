import { shellWord } from '../../format/format.ts';
import { closedHours } from '../../contracts/send-windows.ts';
import { HOLDS, remedyOf, type Hold, type HoldKind } from '../../contracts/hold.ts';
import type { Batch } from './batch-record.ts';

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
export function blockedReason(batch: Batch, around: SendingFleet, now: number): string | undefined {
  const { phase, counts, id } = batch;
  if (phase === 'finished') return undefined;
  if (phase === 'paused') {
    const { startAt, startMissedAt } = batch;
    const resume = `"notices resume ${id}"`;
    if (startAt > 0)
      return `it starts at ${new Date(startAt).toISOString()}; ${resume} starts it now`;
    if (startMissedAt > 0) {
      const missed = new Date(startMissedAt).toISOString();
      return `its start at ${missed} was missed by more than an hour; ${resume} starts it now`;
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
