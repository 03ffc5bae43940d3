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
  type Judged,
} from './list-headlines.ts';

/** The worst thing that is true. */
export function headlineOf(status: HeadlineFacts): Headline {
  const [first] = judgementsOf(status);
  if (first === undefined) return { tone: 'good', title: 'Idle', text: 'Nothing waits.' };
  const { remedy, text, check: _, ...rest } = first;
  return { ...rest, text: remedy === undefined ? text : `${text} What to do: ${remedy}.` };
}

/** All that is true, the worst first. */
export const judgementsOf = (status: HeadlineFacts): Judgement[] =>
  JUDGES.flatMap(([check, judge]) => {
    const found = judge(status);
    return found === undefined ? [] : [{ check, ...found }];
  });

/** What is true, and the check of `notices doctor` that reports it. */
export type Judgement = Judged & { readonly check: (typeof JUDGES)[number][0] };

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
const JUDGES = [
  ['queue.hold', held],
  ['queue.workers', noWorker],
  ['redis', unsuitable],
  ['queue.workers', notReady],
  ['queue.batches', stalled],
  ['queue.hold', heldTemplate],
  ['queue.batches', refusedList],
  ['queue.settings', differing],
  ['queue.batches', importStopped],
  ['queue.waiting', retrying],
  ['moving', sending],
  ['queue.unknown', undecided],
  ['moving', waiting],
] as const satisfies readonly (readonly [string, (status: HeadlineFacts) => Judged | undefined])[];

function held({ hold, now, workers }: HeadlineFacts): Judged | undefined {
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
  const why = code === '' || kind === 'manual' ? '' : ` (${code})`;
  const meanwhile =
    kind === 'failing'
      ? 'One job at a time is tried, and the service may take it'
      : 'Nothing is sent, and what waits keeps its attempts';
  return {
    tone: 'bad',
    title: `Held: ${kind}`,
    text: `${sentence(HOLDS[kind].reason)}${why}. ${meanwhile}.`,
    ...remedyOf(kind, code),
  };
}

function noWorker({ workers, jobs, batches }: HeadlineFacts): Judged | undefined {
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

function unsuitable({ redis }: HeadlineFacts): Judged | undefined {
  const refusal = redis.findings.find(({ severity }) => severity === 'refuse');
  return (
    refusal && {
      tone: 'bad',
      title: 'Redis is unsuitable',
      text: `Workers take no jobs: ${refusal.words}.`,
      remedy: refusal.remedy,
      fault: 'our configuration',
      command: 'notices doctor',
      section: 'redis_unsuitable',
    }
  );
}

/** From this delay of its event loop on, in milliseconds, locks and deadlines of a worker are at risk. */
export const SLOW_LOOP_MS = 1_000;

/** What survives a crash of Redis, in words. */
export const PERSISTENCE = {
  aof: 'append-only file',
  rdb: 'snapshots only',
  none: 'nothing on disk',
  unknown: 'persistence unknown',
} as const;

/** What the reasons for which a worker is not ready mean, and whose fault they are where that is known. */
const UNREADY: Readonly<
  Record<string, { readonly words: string } & Pick<Headline, 'fault' | 'section'>>
> = {
  'redis-away': {
    words: 'it has no connection to Redis',
    fault: 'the network',
    section: 'queue_unavailable',
  },
  'redis-unsuitable': {
    words: 'Redis could lose notices',
    fault: 'our configuration',
    section: 'redis_unsuitable',
  },
  'copy-unchecked': { words: 'it is starting: it checks that Redis is not an old copy' },
  'event-loop': { words: 'its event loop was blocked' },
  'payload-key': {
    words:
      'it does not have the key with which contacts or the do-not-send list are encrypted (PAYLOAD_KEY)',
    fault: 'our configuration',
    section: 'payload_unreadable',
  },
  alone: { words: 'its requests fail, and those of other workers do not' },
  stopping: { words: 'it is shutting down' },
};

/** A reason for which a worker is not ready, as a clause; one that is not known as it is. */
export const unreadyWords = (reason: string): string => UNREADY[reason]?.words ?? reason;

function notReady({ workers }: HeadlineFacts): Judged | undefined {
  const [first] = workers;
  const [reason] = first?.unready ?? [];
  if (reason === undefined || workers.some(({ unready = [] }) => unready.length === 0)) {
    return undefined;
  }
  const { words = reason.reason, ...known } = UNREADY[reason.reason] ?? {};
  return {
    tone: 'bad',
    title: 'No worker is ready',
    text: `Of ${first?.host ?? ''}: ${words}.`,
    remedy: '"notices status" shows the reasons of all',
    ...known,
    command: 'notices doctor',
  };
}

function differing({ differing: found }: HeadlineFacts): Judged | undefined {
  const [first, ...others] = found;
  if (first === undefined) return undefined;
  const names = [first, ...others].map(({ variable }) => variable).join(', ');
  return {
    tone: 'warn',
    title: `Workers differ in ${names}`,
    text: `${first.variable} of ${first.groups.slice(1).flat().join(', ')} is not that of the others.`,
    remedy: 'give all workers the same configuration, and restart these',
    fault: 'our configuration',
    command: 'notices doctor',
  };
}

const WAIT_FOR_NEXT =
  'wait: they are tried again by themselves; if it lasts, ask the service about an outage';

/** Trouble that is too little for a hold, while nothing is accepted. */
function retrying({ retrying: waits, workers }: HeadlineFacts): Judged | undefined {
  if (waits === undefined || sentPerSecond(workers) > 0) return undefined;
  const { notices, chunks, code } = waits;
  const [single, parts] = [
    countOf(notices, 'notice'),
    countOf(chunks, 'part of a list', 'parts of lists'),
  ];
  const what = notices === 0 ? parts : chunks === 0 ? single : `${single} and ${parts}`;
  const verb = notices + chunks === 1 ? 'waits for its' : 'wait for their';
  return {
    tone: 'warn',
    title: `${what} ${verb} next attempt: ${code}`,
    text: 'The last attempt failed, and each attempt counts.',
    ...(code === 'SERVICE_UNREACHABLE'
      ? remedyOf('unreachable', code)
      : // What a hold says of its probes is not true here.
        { ...remedyOf('failing', code), remedy: WAIT_FOR_NEXT }),
  };
}

function sending({ workers, jobs }: HeadlineFacts): Judged | undefined {
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

function undecided({ unknown }: HeadlineFacts): Judged | undefined {
  const { notices, contacts } = unknown;
  if (notices + contacts === 0) return undefined;
  return {
    tone: 'warn',
    title: `${countOf(notices + contacts, 'unknown outcome')} to decide`,
    text: 'The service may have accepted them; they are not sent again before a person decides.',
    fault: 'a person',
    command: 'notices failures --state unknown',
    section: 'unknownmany',
  };
}
