import { CONTACT_STATES, expectedSpeed, type Batch } from '../../batch/ledger/batch-record.ts';
import { continueImport } from '../../batch/ledger/batch-motion.ts';
import type { FailureGroup } from '../../batch/failures/failures.ts';
import { nearEndOfRetention } from '../../batch/ledger/retention.ts';
import { describeGroups } from '../../ops/operations/failures.ts';
import type { BatchSnapshot } from '../../ops/batch-snapshot.ts';
import { formatDuration, formatCount, countOf, formatRate, table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';

/** Number of contacts with a final state. */
export function settledOf({ counts }: Pick<Batch, 'counts'>): number {
  return counts.total - counts.pending;
}

/** Whether every contact is settled and no more will be imported. */
export function isOver({ phase, counts, finishedAt }: Batch): boolean {
  return (phase === 'finished' || phase === 'cancelled') && finishedAt > 0 && counts.pending === 0;
}

/** Number of contacts that were not accepted and will not be retried. */
export function notAccepted({ counts }: Pick<Batch, 'counts'>): number {
  return counts.rejected + counts.unknown + counts.expired + counts.cancelled;
}

/** Describes a batch in lines of text. */
export function describeBatch(
  { batch, standstill, stalled, importStopped }: BatchSnapshot,
  groups: readonly FailureGroup[],
  now: number,
): string[] {
  const { counts, id } = batch;
  return [
    ...table([
      ['batch', id],
      ['phase', describePhase(batch, stalled, now)],
      ['sends', describePlan(batch)],
      ['import', describeImport(batch, importStopped)],
      ['contacts', formatCount(counts.total)],
      ...CONTACT_STATES.map((state) => [`  ${state}`, describeCount(batch, state)]),
      ...(counts.possiblySentTwice === 0
        ? []
        : [['sent twice', `at most ${countOf(counts.possiblySentTwice, 'contact')}`]]),
      ...rateRows(batch, standstill, now),
    ]),
    ...(standstill === undefined ? [] : [`Not sending: ${standstill}.`]),
    ...describeRetention(batch, now),
    ...describeGroups(groups),
    ...nextSteps(batch),
  ];
}

function describePhase(
  { phase, begunAt, finishedAt, movedAt, restartedAt }: Batch,
  stalled: boolean,
  now: number,
): string {
  const ago = (at: number) => writeTime(at, now);
  if (finishedAt > 0) return `${phase}, ${ago(finishedAt)}`;
  // A restart of a stalled batch counts as a move, but is no progress.
  const progress = movedAt === restartedAt ? '' : `, last progress ${ago(movedAt)}`;
  return `${phase}${stalled ? ', stalled' : ''}, started ${ago(begunAt)}${progress}`;
}

function describePlan({ templateCode, delivery, expiresAt, rate, chunkSize }: Batch): string {
  return [
    `template ${templateCode}`,
    delivery,
    `${countOf(chunkSize, 'contact')} per request`,
    ...(rate > 0 ? [`at most ${formatCount(rate)}/s`] : []),
    ...(expiresAt > 0 ? [`until ${new Date(expiresAt).toISOString()}`] : []),
  ].join(', ');
}

function describeImport(batch: Batch, importStopped: boolean): string {
  const { importedAt, rows, refusedRows, duplicateRows } = batch;
  const read = countOf(rows, 'row');
  if (importStopped) {
    return `stopped after ${read}; run the same import again to continue it: "${continueImport(batch)}"`;
  }
  if (importedAt === 0) return `running, ${read} so far`;
  return `finished, ${countOf(refusedRows, 'row')} rejected, ${countOf(duplicateRows, 'duplicate')}`;
}

function describeCount({ counts }: Batch, state: (typeof CONTACT_STATES)[number]): string {
  const sending = state === 'pending' && counts.sending > 0;
  return `${formatCount(counts[state])}${sending ? ` (${formatCount(counts.sending)} being sent)` : ''}`;
}

/** A single read only gives the average rate; `--watch` measures the current one. */
function rateRows(batch: Batch, standstill: string | undefined, now: number): string[][] {
  const until = batch.finishedAt > 0 ? batch.finishedAt : now;
  const tookMs = until - batch.begunAt;
  const { accepted, rejected, unknown } = batch.counts;
  const sent = accepted + rejected + unknown;
  if (sent === 0 || tookMs <= 0) return [];
  const rate = (sent * 1_000) / tookMs;
  const average = `${formatRate(rate)}/s since its start`;
  if (batch.finishedAt > 0) return [['rate', `${average}, ${formatDuration(tookMs)} in total`]];
  if (batch.phase !== 'sending' || standstill !== undefined) return [['rate', average]];
  const restMs = (batch.counts.pending / expectedSpeed(batch, rate)) * 1_000;
  return [['rate', `${average}; ${writeTime(now + restMs, now, (span) => `about ${span} left`)}`]];
}

function describeRetention(batch: Batch, now: number): string[] {
  const near = nearEndOfRetention(batch, now);
  if (near === undefined) return [];
  const rest = writeTime(near.keptUntil, now);
  return [
    `Warning: ${countOf(near.contacts, 'contact')} that were not accepted will be deleted ${rest}.`,
  ];
}

function nextSteps(batch: Batch): string[] {
  if (notAccepted(batch) === 0) return [];
  const { id, phase, counts } = batch;
  const steps: string[] = [];
  if (notAccepted(batch) > counts.unknown) {
    const what = counts.unknown > 0 ? 'all but unknown ones' : 'them';
    steps.push(`"notices failures ${id} --csv" exports ${what}`);
  }
  if (counts.unknown > 0) steps.push(`"notices failures ${id} --state unknown" lists unknown ones`);
  if (counts.rejected > 0 && (phase === 'finished' || phase === 'sending')) {
    steps.push(`"notices decide --batch ${id} --as resend" sends the rejected ones again`);
  }
  return [`${steps.join('; ')}.`];
}

/** Text after the progress bar. */
export function progressText(batch: Batch, rate: number, restMs: number | undefined): string {
  const { counts } = batch;
  const others = CONTACT_STATES.filter(
    (state) => state !== 'pending' && state !== 'accepted' && counts[state] > 0,
  ).map((state) => `${formatCount(counts[state])} ${state}`);
  return [
    `${formatCount(settledOf(batch))} of ${formatCount(counts.total)}`,
    ...others,
    ...(rate > 0 || counts.pending > 0 ? [`${formatRate(rate)}/s`] : []),
    ...(batch.phase === 'sending' && restMs !== undefined
      ? [`${formatDuration(restMs)} left`]
      : []),
  ].join(', ');
}
