import { CONTACT_STATES } from '../batch/ledger/batch-record.ts';
import { countOf, formatCount, formatDuration, formatRate, table } from '../format/format.ts';
import { writeInstant, writeTime } from '../format/time.ts';
import type { BatchAnswer, BatchReport } from './answers/batch.ts';
import { describeGroups } from './operations/failures.ts';

/** Number of contacts that were not accepted and will not be retried. */
export function notAccepted({ counts }: Pick<BatchAnswer, 'counts'>): number {
  return counts.rejected + counts.unknown + counts.expired + counts.cancelled;
}

export function describeBatch(
  { batch, standstill, continueImport, failures }: BatchReport,
  now: number,
): string[] {
  const { counts, lossNear } = batch;
  return [
    ...table([
      ['batch', batch.id],
      ['phase', describePhase(batch, now)],
      ...(batch.paused === undefined ? [] : [['paused', describePause(batch.paused, now)]]),
      ['sends', describePlan(batch)],
      ['import', describeImport(batch, continueImport)],
      ['contacts', formatCount(counts.total)],
      ...CONTACT_STATES.map((state) => {
        const sending = state === 'pending' && counts.sending > 0;
        const now = sending ? ` (${formatCount(counts.sending)} being sent)` : '';
        return [`  ${state}`, `${formatCount(counts[state])}${now}`];
      }),
      ...(counts.possiblySentTwice === 0
        ? []
        : [['sent twice', `at most ${countOf(counts.possiblySentTwice, 'contact')}`]]),
      ...rateRows(batch, now),
    ]),
    ...(standstill === null ? [] : [`Not sending: ${standstill}.`]),
    ...(lossNear === undefined
      ? []
      : [
          `Warning: ${countOf(lossNear.contacts, 'contact')} that were not accepted will be deleted ${writeTime(lossNear.keptUntil, now)}.`,
        ]),
    ...describeGroups(failures),
    ...nextSteps(batch),
  ];
}

/** Who paused a list, when and why, after `paused`. */
export const describePause = (
  { who, at, why }: NonNullable<BatchAnswer['paused']>,
  now: number,
): string => `by ${who} ${writeTime(at, now)}${why === '' ? '' : `: ${why}`}`;

function describePhase(
  { phase, begunAt, finishedAt, movedAt, stalled }: BatchAnswer,
  now: number,
): string {
  const ago = (at: number) => writeTime(at, now);
  if (finishedAt !== null) return `${phase}, ${ago(finishedAt)}`;
  const progress = movedAt === null ? '' : `, last progress ${ago(movedAt)}`;
  return `${phase}${stalled ? ', stalled' : ''}, started ${ago(begunAt)}${progress}`;
}

function describePlan({ templateCode, delivery, expiresAt, rate, chunkSize }: BatchAnswer): string {
  return [
    `template ${templateCode}`,
    delivery,
    `${countOf(chunkSize, 'contact')} per request`,
    ...(rate > 0 ? [`at most ${formatCount(rate)}/s`] : []),
    ...(expiresAt === null ? [] : [`until ${writeInstant(expiresAt)}`]),
  ].join(', ');
}

function describeImport(
  { importedAt, rows, refusedRows, duplicateRows }: BatchAnswer,
  command: string | null,
): string {
  const read = countOf(rows, 'row');
  if (command !== null) {
    return `stopped after ${read}; run the same import again to continue it: "${command}"`;
  }
  if (importedAt === null) return `running, ${read} so far`;
  return `finished, ${countOf(refusedRows, 'row')} rejected, ${countOf(duplicateRows, 'duplicate')}`;
}

/** A single read only gives the average rate; `--watch` measures the current one. */
function rateRows(
  { perSecond, restMs, begunAt, finishedAt }: BatchAnswer,
  now: number,
): string[][] {
  if (perSecond === 0) return [];
  const average = `${formatRate(perSecond)}/s since its start`;
  if (finishedAt !== null) {
    return [['rate', `${average}, ${formatDuration(finishedAt - begunAt)} in total`]];
  }
  if (restMs === null) return [['rate', average]];
  return [['rate', `${average}; ${writeTime(now + restMs, now, (span) => `about ${span} left`)}`]];
}

function nextSteps({ id, phase, counts }: BatchAnswer): string[] {
  const failed = notAccepted({ counts });
  if (failed === 0) return [];
  const steps: string[] = [];
  if (failed > counts.unknown) {
    const what = counts.unknown > 0 ? 'all but unknown ones' : 'them';
    steps.push(`"notices failures ${id} --csv" exports ${what}`);
  }
  if (counts.unknown > 0) steps.push(`"notices failures ${id} --state unknown" lists unknown ones`);
  if (counts.rejected > 0 && (phase === 'finished' || phase === 'sending')) {
    steps.push(`"notices decide --batch ${id} --as resend" sends the rejected ones again`);
  }
  return [`${steps.join('; ')}.`];
}
