import { HOLDS, remedyOf, type HoldFault } from '../../contracts/hold.ts';
import { countOf, formatCount, formatRate, shellWord } from '../../format/format.ts';
import type { RedisFinding } from '../../redis/suitability.ts';
import type { DifferingSetting, SeenWorker } from '../../fleet/heartbeat.ts';
import type { BatchesSummary } from '../batches-summary.ts';
import type { FleetSnapshot, JobCounts } from '../snapshot.ts';
import { unreadyWords } from './unready-words.ts';

/** The worst thing that is true of the account: what pages, `notices status` and the API say first. */
export interface Headline {
  readonly tone: 'good' | 'warn' | 'bad';
  readonly title: string;
  readonly text: string;
  /** When it ends by itself: Redis time, milliseconds since the epoch. */
  readonly until?: number | undefined;
  readonly fault?: HoldFault | undefined;
  /** The command to begin with. */
  readonly command?: string | undefined;
  /** Section of docs/operating.md. */
  readonly section?: string | undefined;
  /** The list that it is about. */
  readonly batch?: string | undefined;
}

/** What it is judged by: a part of the status. */
interface HeadlineFacts {
  readonly now: number;
  readonly hold?: FleetSnapshot['hold'];
  readonly templateHolds: FleetSnapshot['templateHolds'];
  readonly workers: readonly SeenWorker[];
  readonly differing: readonly DifferingSetting[];
  readonly jobs: Omit<JobCounts, 'completed'>;
  readonly batches: BatchesSummary;
  readonly unknown: { readonly notices: number; readonly contacts: number };
  readonly redis: { readonly findings: readonly RedisFinding[] };
}

/** The worst thing that is true: the first of {@link JUDGES} that applies. */
export function headlineOf(status: HeadlineFacts): Headline {
  for (const judge of JUDGES) {
    const found = judge(status);
    if (found !== undefined) return found;
  }
  return { tone: 'good', title: 'Idle', text: 'Nothing waits.' };
}

/** Requests and contacts per second that workers made in the time before their last heartbeats. */
export function sentPerSecond(
  workers: readonly SeenWorker[],
  of: 'requests' | 'contacts' = 'contacts',
): number {
  return workers.reduce(
    (sum, { sent }) =>
      sum + (sent === undefined ? 0 : (sent[of] * 1_000) / Math.max(1, sent.forMs)),
    0,
  );
}

/** The worst first. */
const JUDGES: readonly ((status: HeadlineFacts) => Headline | undefined)[] = [
  held,
  noWorker,
  unsuitable,
  notReady,
  stalled,
  heldTemplate,
  refusedList,
  differing,
  importStopped,
  sending,
  undecided,
  waiting,
];

function held({ hold, now, workers }: HeadlineFacts): Headline | undefined {
  if (hold === undefined) return undefined;
  const { kind, code, nextProbeAt } = hold;
  if (kind === 'throttled') {
    if (workers.length === 0) return undefined;
    const isOver = nextProbeAt <= now;
    return {
      tone: 'warn',
      title: 'Paused because the service asked',
      text: `The service limits the send requests (429). Nothing to do: ${isOver ? 'the next request tries again' : 'sending resumes by itself'}.`,
      ...(isOver ? {} : { until: nextProbeAt }),
      fault: 'the service',
      section: kind,
    };
  }
  const { remedy, ...rest } = remedyOf(kind, code);
  const why = code === '' || kind === 'manual' ? '' : ` (${code})`;
  const meanwhile =
    kind === 'failing'
      ? 'One job at a time is tried, and the service may take it'
      : 'Nothing is sent, and what waits keeps its attempts';
  return {
    tone: 'bad',
    title: `Held: ${kind}`,
    text: `${sentence(HOLDS[kind].reason)}${why}. ${meanwhile}. What to do: ${remedy}.`,
    ...rest,
  };
}

function noWorker({ workers, jobs, batches }: HeadlineFacts): Headline | undefined {
  if (workers.length > 0) return undefined;
  const waits = jobs.waiting + jobs.delayed + batches.pending > 0;
  return {
    tone: waits ? 'bad' : 'warn',
    title: 'No worker',
    text: `Nothing is sent${waits ? ', and notices wait' : ''}. Start a worker.`,
    fault: 'our configuration',
    command: 'notices worker',
    section: 'workersnone',
  };
}

function unsuitable({ redis }: HeadlineFacts): Headline | undefined {
  const refusal = redis.findings.find(({ severity }) => severity === 'refuse');
  return (
    refusal && {
      tone: 'bad',
      title: 'Redis is unsuitable',
      text: `Workers take no jobs: ${refusal.words}. What to do: ${refusal.remedy}.`,
      fault: 'our configuration',
      command: 'notices doctor',
      section: 'redis_unsuitable',
    }
  );
}

function notReady({ workers }: HeadlineFacts): Headline | undefined {
  const [first] = workers;
  const [reason] = first?.unready ?? [];
  if (reason === undefined || workers.some(({ unready = [] }) => unready.length === 0)) {
    return undefined;
  }
  return {
    tone: 'bad',
    title: 'No worker is ready',
    text: `Of ${first?.host ?? ''}: ${unreadyWords(reason.reason)}. The reasons of all are beside the workers.`,
    command: 'notices doctor',
  };
}

function stalled({ batches }: HeadlineFacts): Headline | undefined {
  const [first, ...others] = batches.openBatches.filter((batch) => batch.stalled);
  if (first === undefined) return undefined;
  return {
    tone: 'bad',
    title: `List ${first.id} is stalled${andOthers(others.length)}`,
    text: `It made no progress for more than a minute, although nothing holds it: ${countOf(first.pending, 'contact')} wait.`,
    command: `notices batch ${shellWord(first.id)}`,
    section: 'batchstalled',
    batch: first.id,
  };
}

/** A list that was rejected throughout stays the headline for so long, in milliseconds. */
const REFUSED_FOR_MS = 24 * 3_600_000;

/** Fewer rejected contacts say nothing about the template. */
const REFUSED_LEAST = 20;

function refusedList({ batches, now }: HeadlineFacts): Headline | undefined {
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

function differing({ differing: found }: HeadlineFacts): Headline | undefined {
  const [first, ...others] = found;
  if (first === undefined) return undefined;
  const names = [first, ...others].map(({ variable }) => variable).join(', ');
  return {
    tone: 'warn',
    title: `Workers differ in ${names}`,
    text: `${first.variable} of ${first.groups.slice(1).flat().join(', ')} is not that of the others. Give all workers the same configuration, and restart these.`,
    fault: 'our configuration',
    command: 'notices doctor',
  };
}

function heldTemplate({ templateHolds, batches }: HeadlineFacts): Headline | undefined {
  const [first, ...others] = templateHolds;
  if (first === undefined) return undefined;
  const { template, kind, code } = first;
  const { remedy, ...rest } = remedyOf(kind, code);
  const [list, ...lists] = batches.openBatches.filter((batch) => batch.heldTemplate === template);
  const what =
    list === undefined
      ? ''
      : ` List ${list.id}${andOthers(lists.length)} has paused itself: ${formatCount(list.pending)} of ${countOf(list.total, 'contact')} wait.`;
  const why = kind === 'manual' ? `A person holds it: ${code}` : sentence(HOLDS[kind].reason);
  return {
    tone: 'warn',
    title: `Template ${template} is held${kind === 'manual' ? '' : `, ${code}`}${andOthers(others.length)}`,
    text: `${why}.${what} Others are sent. What to do: ${remedy}.`,
    ...rest,
    command:
      kind === 'manual' ? `notices hold lift --template ${shellWord(template)}` : 'notices hold',
    ...(list === undefined ? {} : { batch: list.id }),
  };
}

function importStopped({ batches }: HeadlineFacts): Headline | undefined {
  const [first, ...others] = batches.openBatches.filter((batch) => batch.importStopped);
  if (first === undefined) return undefined;
  return {
    tone: 'warn',
    title: `The import of ${first.id} stopped${andOthers(others.length)}`,
    text: `It stopped after ${countOf(first.total, 'contact')}. Run the same import again, with the list and the other flags of the first time: it continues where it stopped.`,
    fault: 'a person',
    command: first.continueImport,
    section: 'import_stopped',
    batch: first.id,
  };
}

function sending({ workers, jobs }: HeadlineFacts): Headline | undefined {
  const perSecond = sentPerSecond(workers);
  const isSending =
    jobs.waiting + jobs.active > 0 ||
    workers.some(({ sent, active }) => active > 0 || (sent?.requests ?? 0) > 0);
  if (!isSending) return undefined;
  const rate = perSecond === 0 ? 'Notices are' : `${formatRate(perSecond)} contacts per second are`;
  return { tone: 'good', title: 'Sending', text: `${rate} being sent.` };
}

function undecided({ unknown }: HeadlineFacts): Headline | undefined {
  const { notices, contacts } = unknown;
  if (notices + contacts === 0) return undefined;
  return {
    tone: 'warn',
    title: `${countOf(notices + contacts, 'unknown outcome')} to decide`,
    text: 'The service may have accepted them; they are not sent again before a person decides.',
    fault: 'a person',
    command: 'notices unknown',
    section: 'unknownmany',
  };
}

function waiting({ batches, jobs }: HeadlineFacts): Headline | undefined {
  if (batches.pending > 0) {
    const [first, ...others] = batches.openBatches.filter(({ phase }) => phase === 'paused');
    if (first === undefined) {
      return {
        tone: 'warn',
        title: 'Waiting',
        text: 'Contacts of lists wait, and none was sent recently.',
        command: 'notices batches',
      };
    }
    return {
      tone: 'warn',
      title: `List ${first.id} is paused${andOthers(others.length)}`,
      text: `${formatCount(first.pending)} of ${countOf(first.total, 'contact')} wait until a person resumes it.`,
      fault: 'a person',
      command: `notices resume ${shellWord(first.id)}`,
      batch: first.id,
    };
  }
  if (jobs.delayed === 0) return undefined;
  const text = `Nothing is due: ${countOf(jobs.delayed, 'notice waits', 'notices wait')} for their time or next attempt.`;
  return { tone: 'good', title: 'Idle', text };
}

const andOthers = (count: number) => (count > 0 ? ` and ${formatCount(count)} more` : '');

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
