import { HOLDS, remedyOf } from '../../contracts/hold.ts';
import { countOf, formatRate } from '../../format/format.ts';
import type { SeenWorker } from '../../fleet/heartbeat.ts';
import {
  heldTemplate,
  importStopped,
  refusedList,
  sentence,
  stalled,
  waiting,
  type Headline,
  type HeadlineFacts,
} from './list-headlines.ts';
import { unreadyWords } from './unready-words.ts';

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
  retrying,
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

/** Trouble that is too little for a hold, while nothing is accepted. */
function retrying({ retrying: waits, workers }: HeadlineFacts): Headline | undefined {
  if (waits === undefined || sentPerSecond(workers) > 0) return undefined;
  const { notices, chunks, code } = waits;
  const { remedy, ...rest } = remedyOf(
    code === 'SERVICE_UNREACHABLE' ? 'unreachable' : 'failing',
    code,
  );
  const [single, parts] = [
    countOf(notices, 'notice'),
    countOf(chunks, 'part of a list', 'parts of lists'),
  ];
  const what = notices === 0 ? parts : chunks === 0 ? single : `${single} and ${parts}`;
  const verb = notices + chunks === 1 ? 'waits for its' : 'wait for their';
  return {
    tone: 'warn',
    title: `${what} ${verb} next attempt: ${code}`,
    text: `The last attempt failed, and attempts are used up. What to do: ${remedy}.`,
    ...rest,
  };
}

function sending({ workers, jobs }: HeadlineFacts): Headline | undefined {
  const perSecond = sentPerSecond(workers);
  const isSending =
    jobs.waiting + jobs.active > 0 ||
    workers.some(({ sent, active }) => active > 0 || (sent?.requests ?? 0) > 0);
  if (!isSending) return undefined;
  const text =
    perSecond > 0
      ? `${formatRate(perSecond)} contacts per second are being sent.`
      : 'Nothing was accepted in the last seconds: the first answers are awaited.';
  return { tone: 'good', title: 'Sending', text };
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
