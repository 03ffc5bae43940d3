import { HOLDS, remedyOf } from '../../contracts/hold.ts';
import { allClosed } from '../../contracts/send-windows.ts';
import { countOf, formatCount, shellWord } from '../../format/format.ts';
import type { Status } from './account-schemas.ts';

/** The worst thing that is true of the account: what pages, `notices status` and the API say first. */
export type Headline = Status['headline'];

/** One thing that is true, before its remedy is part of the text. */
export type Judged = Headline & { readonly remedy?: string };

/** What it is judged by. */
export type HeadlineFacts = Omit<Status, 'headline'>;

/* What can be the worst thing that is true of lists, and of templates. */

export function stalled({ batches }: HeadlineFacts): Judged | undefined {
  const [first, ...others] = batches.openBatches.filter((batch) => batch.stalled);
  if (first === undefined) return undefined;
  return {
    tone: 'bad',
    title: `List ${first.id} is stalled${andOthers(others.length)}`,
    text: `It made no progress for more than a minute, although nothing holds it: ${countOf(first.pending, 'contact')} wait.`,
    fault: 'our configuration',
    command: `notices batch ${shellWord(first.id)}`,
    section: 'batchstalled',
    batch: first.id,
  };
}

/** A list that was rejected throughout stays the headline for so long, in milliseconds. */
const REFUSED_FOR_MS = 24 * 3_600_000;

/** Fewer rejected contacts say nothing about the template. */
const REFUSED_LEAST = 20;

export function refusedList({ batches, now }: HeadlineFacts): Judged | undefined {
  const [first, ...others] = batches.refused.filter(
    ({ rejected, total, movedAt }) =>
      rejected === total && total >= REFUSED_LEAST && now - movedAt < REFUSED_FOR_MS,
  );
  if (first === undefined) return undefined;
  const { id, total, code } = first;
  return {
    tone: 'bad',
    title: `List ${id}: all ${formatCount(total)} rejected, ${code}${andOthers(others.length)}`,
    text: `The template or its sender keys, not the service: it answers, and refuses this list. Correct the cause, then send the list again.`,
    fault: 'the template',
    command: `notices failures ${shellWord(id)}`,
    section: 'batchrefused',
    batch: id,
  };
}

export function heldTemplate({ templateHolds, batches }: HeadlineFacts): Judged | undefined {
  const [first, ...others] = templateHolds;
  if (first === undefined) return undefined;
  const { template, kind, code } = first;
  const [list, ...lists] = batches.openBatches.filter((batch) => batch.heldTemplate === template);
  const what =
    list === undefined
      ? ''
      : ` List ${list.id}${andOthers(lists.length)} has paused itself: ${formatCount(list.pending)} of ${countOf(list.total, 'contact')} wait.`;
  const why = kind === 'manual' ? `A person holds it: ${code}` : sentence(HOLDS[kind].reason);
  return {
    tone: 'warn',
    title: `Template ${template} is held${kind === 'manual' ? '' : `, ${code}`}${andOthers(others.length)}`,
    text: `${why}.${what} Others are sent.`,
    ...remedyOf(kind, code),
    command:
      kind === 'manual' ? `notices hold lift --template ${shellWord(template)}` : 'notices hold',
    ...(list === undefined ? {} : { batch: list.id }),
  };
}

export function importStopped({ batches }: HeadlineFacts): Judged | undefined {
  const [first, ...others] = batches.openBatches.filter(
    (batch) => batch.continueImport !== undefined,
  );
  if (first === undefined) return undefined;
  return {
    tone: 'warn',
    title: `The import of ${first.id} stopped${andOthers(others.length)}`,
    text: `It stopped after ${countOf(first.total, 'contact')}. Run the same import again: it continues where it stopped.`,
    fault: 'a person',
    command: first.continueImport,
    section: 'import_stopped',
    batch: first.id,
  };
}

export function waiting({ batches, jobs, sendWindows, now }: HeadlineFacts): Judged | undefined {
  const later = batches.openBatches.filter(({ startAt }) => startAt !== undefined);
  const [paused, ...others] = batches.openBatches.filter(
    ({ phase, startAt }) => phase === 'paused' && startAt === undefined,
  );
  if (batches.pending > 0 && paused !== undefined) {
    return {
      tone: 'warn',
      title: `List ${paused.id} is paused${andOthers(others.length)}`,
      text: `${formatCount(paused.pending)} of ${countOf(paused.total, 'contact')} wait until a person resumes it.`,
      fault: 'a person',
      command: `notices resume ${shellWord(paused.id)}`,
      section: 'manual',
      batch: paused.id,
    };
  }
  if (batches.pending + jobs.delayed === 0) return undefined;
  const [first] = later.sort((a, b) => (a.startAt ?? 0) - (b.startAt ?? 0));
  if (first?.startAt !== undefined && later.length === batches.open) {
    return {
      tone: 'good',
      title: `List ${first.id} waits for its start${andOthers(later.length - 1)}`,
      text: `${formatCount(first.pending)} of ${countOf(first.total, 'contact')} are sent from then on.`,
      until: first.startAt,
      batch: first.id,
    };
  }
  const [hours] = allClosed(sendWindows, now);
  if (hours !== undefined) {
    const { words, opensAt: until } = hours.closed;
    const text = `The sending hours of ${hours.pattern} are closed; what is due then is sent then.`;
    return { tone: 'good', title: `Waiting for ${words}`, text, until };
  }
  if (batches.pending > 0) {
    const why = batches.openBatches.find(
      ({ waits, pending, startAt }) => waits !== undefined && pending > 0 && startAt === undefined,
    );
    const text =
      why === undefined
        ? 'Contacts of lists wait, and none was sent recently.'
        : `List ${why.id}: ${why.waits}.`;
    return { tone: 'warn', title: 'Waiting', text, command: 'notices batches' };
  }
  const text = `Nothing is due: ${countOf(jobs.delayed, 'notice waits', 'notices wait')} for their time or next attempt.`;
  return { tone: 'good', title: 'Idle', text };
}

const andOthers = (count: number) => (count > 0 ? ` and ${formatCount(count)} more` : '');

/** A text as the beginning of a sentence. */
export const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
