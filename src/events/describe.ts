import { HOLDS, remedyOf } from '../contracts/hold.ts';
import { countOf, formatCount, formatDuration } from '../format/format.ts';
import type { AccountEvent } from './event.ts';

/** What each event means, and what to do. Tests check docs/events.md and docs/operating.md against this table. */
export const EVENTS = {
  'notice.ended': { meaning: 'a single notice has ended', remedy: '' },
  'notice.redriven': { meaning: 'a single notice is sent again', remedy: '' },
  'contact.rejected': { meaning: 'contacts of a batch were rejected', remedy: '' },
  'contact.redriven': { meaning: 'rejected contacts of a batch are sent again', remedy: '' },
  'batch.finished': {
    meaning: 'a batch has no pending contacts any more',
    remedy: 'list what was not accepted with "notices failures BATCH"',
  },
  'batch.refused': {
    meaning: 'the service rejects all contacts of a batch',
    remedy: 'check its template and sender keys; "notices pause BATCH" stops it',
  },
  'batch.stalled': {
    meaning: 'a batch made no progress although nothing held it; its jobs were queued again',
    remedy: 'check that workers run; "notices batch BATCH" shows why nothing is sent',
  },
  'hold.begun': {
    meaning: 'the queue or a template is held, of which nothing is sent',
    remedy: 'follow the remedy of its kind: "notices hold"',
  },
  'hold.ended': { meaning: 'a hold has ended', remedy: '' },
  'unknown.many': {
    meaning: 'many outcomes are unknown: the service may or may not have accepted them',
    remedy:
      'look them up at the service and decide: "notices failures --state unknown" lists them and says how',
  },
  'unknown.few': { meaning: 'few outcomes are unknown again', remedy: '' },
  'workers.none': {
    meaning: 'no worker is running although notices wait',
    remedy: 'start one with "notices worker"',
  },
  'workers.back': { meaning: 'a worker is running again', remedy: '' },
  'waiting.long': {
    meaning: 'notices wait for long although nothing is held',
    remedy: 'add workers, or find out what slows them down: "notices status"',
  },
  'waiting.short': { meaning: 'no notice waits for long any more', remedy: '' },
  'memory.near': {
    meaning: 'Redis is running out of memory; when it is full, no notice can be queued',
    remedy: 'raise maxmemory, or lower HIGH_WATER and the retention times',
  },
  'memory.eased': { meaning: 'Redis has enough free memory again', remedy: '' },
} as const satisfies Record<AccountEvent['event'], { meaning: string; remedy: string }>;

/** A sentence for a person, and what to do; '' for nothing. */
export function describeEvent(event: AccountEvent): {
  readonly title: string;
  readonly remedy: string;
} {
  const { meaning, remedy } = EVENTS[event.event];
  const detail = detailOf(event);
  const title = detail === '' ? meaning : `${meaning}: ${detail}`;
  if (event.event === 'hold.begun')
    return { title, remedy: remedyOf(event.kind, event.code).remedy };
  const isComplete = event.event === 'batch.finished' && event.accepted === event.total;
  return { title, remedy: isComplete ? '' : remedy };
}

function detailOf(event: AccountEvent): string {
  switch (event.event) {
    case 'notice.ended':
    case 'notice.redriven':
      return `${event.notice}, ${event.state}`;
    case 'contact.rejected':
      return `batch ${event.batch}, ${countOf(event.contacts, 'contact')}${event.rows === '' ? '' : ` (row ${event.rows})`}, ${event.code}`;
    case 'contact.redriven':
      return `batch ${event.batch}, ${countOf(event.contacts, 'contact')}`;
    case 'batch.finished': {
      const { batch, total, accepted } = event;
      const all = countOf(total, 'contact');
      if (accepted === total) return `batch ${batch}, all ${all} accepted`;
      const some = accepted === 0 ? 'none' : formatCount(accepted);
      return `batch ${batch}, ${some} of ${all} accepted`;
    }
    case 'batch.refused':
      return `batch ${event.batch}, ${formatCount(event.rejected)} rejected so far, ${event.code}`;
    case 'batch.stalled':
      return `batch ${event.batch}, ${countOf(event.pending, 'contact')} pending`;
    case 'hold.begun':
      return `${ofTemplate(event)}${HOLDS[event.kind].reason} (${event.kind}${event.code === '' ? '' : `, ${event.code}`})`;
    case 'hold.ended':
      return ofTemplate(event) + event.kind;
    case 'unknown.many':
    case 'unknown.few':
      return `${countOf(event.notices, 'notice')} and ${countOf(event.contacts, 'contact')} of batches`;
    case 'workers.none':
      return `${countOf(event.waiting, 'job')} waiting`;
    case 'waiting.long':
      return formatDuration(event.waitedMs);
    case 'memory.near':
    case 'memory.eased': {
      const { usedBytes, limitBytes } = event;
      return `${limitBytes > 0 ? Math.round((usedBytes / limitBytes) * 100) : 0} % used`;
    }
    case 'workers.back':
    case 'waiting.short':
      return '';
  }
}

const ofTemplate = ({ template }: { readonly template: string }) =>
  template === '' ? '' : `template ${template}, `;

/** Events that are not for a chat: their number depends on that of the notices. */
const NOT_FOR_PEOPLE: ReadonlySet<string> = new Set([
  'notice.ended',
  'notice.redriven',
  'contact.rejected',
  'contact.redriven',
]);

/** Lines of one message: chat tools take some 2,000 characters. */
const MOST_LINES = 8;

/** Text of a message in a chat, a line for each event; undefined where none of them is for people. */
export function chatText(queue: string, events: readonly AccountEvent[]): string | undefined {
  const lines = events
    .filter(({ event }) => !NOT_FOR_PEOPLE.has(event))
    .map(describeEvent)
    .map(({ title, remedy }) => `[${queue}] ${title}.${remedy === '' ? '' : ` To do: ${remedy}.`}`);
  const more = lines.length - MOST_LINES;
  const shown = lines.slice(0, MOST_LINES);
  if (more > 0) shown.push(`[${queue}] ${more} more: "notices events" lists them.`);
  return lines.length === 0 ? undefined : shown.join('\n');
}
