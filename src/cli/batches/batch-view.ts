import { CONTACT_STATES, type Batch } from '../../batch/ledger/batch-record.ts';
import type { FailureGroup } from '../../batch/failures/failure-groups.ts';
import { nearEndOfRetention } from '../../batch/ledger/retention.ts';
import { readBatchSnapshot, type BatchSnapshot } from '../../ops/batch-snapshot.ts';
import type { BatchControlContext } from '../../ops/batch-actions.ts';
import { noSuchBatch } from '../open-ledger.ts';
import { duration, table } from '../output.ts';
import { count, countOf } from '../progress.ts';

/** @throws UsageError where there is no such batch, and what {@link readBatchSnapshot} throws */
export async function viewBatch(open: BatchControlContext, id: string): Promise<BatchSnapshot> {
  const view = await readBatchSnapshot(open, id);
  if (view === undefined) throw noSuchBatch(id);
  return view;
}

/** Contacts that have their final state. */
export function settledOf({ counts }: Pick<Batch, 'counts'>): number {
  return counts.total - counts.pending;
}

/** Whether all is settled and nothing more will come. */
export function isOver({ phase, counts, finishedAt }: Batch): boolean {
  return (phase === 'finished' || phase === 'cancelled') && finishedAt > 0 && counts.pending === 0;
}

/** Contacts that were not accepted, and will not be by themselves. */
export function notAccepted({ counts }: Pick<Batch, 'counts'>): number {
  return counts.rejected + counts.unknown + counts.expired + counts.cancelled;
}

/** Everything about a batch, in lines for a person. */
export function describeBatch(
  { batch, standstill }: BatchSnapshot,
  groups: readonly FailureGroup[],
  now: number,
): string[] {
  const { counts, id } = batch;
  return [
    ...table([
      ['batch', id],
      ['phase', describePhase(batch, now)],
      ['sends', describePlan(batch)],
      ['import', describeImport(batch)],
      ['contacts', count(counts.total)],
      ...CONTACT_STATES.map((state) => [`  ${state}`, describeCount(batch, state)]),
      ...(counts.possiblySentTwice === 0
        ? []
        : [['twice', `${count(counts.possiblySentTwice)} at most were sent twice`]]),
      ...paceRows(batch, now),
    ]),
    ...(standstill === undefined ? [] : [`It stands still: ${standstill}.`]),
    ...describeRetention(batch, now),
    ...describeGroups(groups),
    ...nextSteps(batch),
  ];
}

function describePhase({ phase, begunAt, finishedAt, movedAt }: Batch, now: number): string {
  const ago = (at: number) => `${duration(Math.max(0, now - at))} ago`;
  if (finishedAt > 0) return `${phase}, ${ago(finishedAt)}`;
  return `${phase}, begun ${ago(begunAt)}, moved last ${ago(movedAt)}`;
}

function describePlan({ templateCode, delivery, expiresAt, rate, chunkSize }: Batch): string {
  return [
    `template ${templateCode}`,
    delivery,
    `${countOf(chunkSize, 'contact')} a call`,
    ...(rate > 0 ? [`at most ${count(rate)}/s`] : []),
    ...(expiresAt > 0 ? [`until ${new Date(expiresAt).toISOString()}`] : []),
  ].join(', ');
}

function describeImport({ importedAt, rows, refusedRows, duplicateRows }: Batch): string {
  if (importedAt === 0) return `under way, ${countOf(rows, 'row')} so far`;
  return `ended, ${countOf(refusedRows, 'row')} refused, ${countOf(duplicateRows, 'duplicate')}`;
}

function describeCount({ counts }: Batch, state: (typeof CONTACT_STATES)[number]): string {
  const sending = state === 'pending' && counts.sending > 0;
  return `${count(counts[state])}${sending ? ` (${count(counts.sending)} being sent)` : ''}`;
}

/** One look can only tell the average; `--watch` measures the pace of the moment. */
function paceRows(batch: Batch, now: number): string[][] {
  const until = batch.finishedAt > 0 ? batch.finishedAt : now;
  const tookMs = until - batch.begunAt;
  const { accepted, rejected, unknown } = batch.counts;
  const sent = accepted + rejected + unknown;
  if (sent === 0 || tookMs <= 0) return [];
  const rate = (sent * 1_000) / tookMs;
  const average = `${count(Math.round(rate))}/s since it was begun`;
  if (batch.finishedAt > 0) return [['pace', `${average}, ${duration(tookMs)} in all`]];
  if (batch.phase !== 'sending') return [['pace', average]];
  return [['pace', `${average}; about ${duration((batch.counts.pending / rate) * 1_000)} to go`]];
}

/** Failures by state and code. */
export function describeGroups(groups: readonly FailureGroup[]): string[] {
  if (groups.length === 0) return [];
  return [
    'Not accepted:',
    ...table(
      groups.map(({ state, code, contacts, message }) => [
        `  ${state}`,
        code,
        count(contacts),
        message,
      ]),
    ),
  ];
}

function describeRetention(batch: Batch, now: number): string[] {
  const near = nearEndOfRetention(batch, now);
  if (near === undefined) return [];
  const rest = duration(near.restMs);
  return [`Warning: ${countOf(near.contacts, 'contact')} not accepted will be deleted in ${rest}.`];
}

function nextSteps(batch: Batch): string[] {
  if (notAccepted(batch) === 0) return [];
  const { id, phase, counts } = batch;
  const steps = [`"notices failures ${id} --csv" writes them to a file`];
  if (counts.rejected > 0 && (phase === 'finished' || phase === 'sending')) {
    steps.push(`"notices redrive ${id}" sends the rejected ones again`);
  }
  return [`${steps.join('; ')}.`];
}

/** One line for a bar. */
export function progressText(batch: Batch, rate: number, restMs: number | undefined): string {
  const { counts } = batch;
  const others = CONTACT_STATES.filter(
    (state) => state !== 'pending' && state !== 'accepted' && counts[state] > 0,
  ).map((state) => `${count(counts[state])} ${state}`);
  return [
    `${count(settledOf(batch))} of ${count(counts.total)}`,
    ...others,
    ...(rate > 0 || counts.pending > 0 ? [`${count(Math.round(rate))}/s`] : []),
    ...(batch.phase === 'sending' && restMs !== undefined ? [`${duration(restMs)} left`] : []),
  ].join(', ');
}
