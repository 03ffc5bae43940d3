import type { BatchEvent } from '../../batch/ledger/batch-events.ts';
import { possiblySentTwice } from '../../batch/ledger/batch-record.ts';
import { countOf, formatCount } from '../../format/format.ts';
import { HOLDS, type Hold, type HoldKind } from '../../contracts/hold.ts';
import { ALERTS, type AlertDraft, type AlertName } from './alert-event.ts';
import type { NearSnapshot, NoticeEnds } from './alert-snapshot.ts';

/* Title and details of each alert. Times in `data` are ISO 8601, durations milliseconds. */

export function unknownDraft(notices: number, contacts: number): AlertDraft {
  const what = `${countOf(notices, 'notice')} and ${countOf(contacts, 'contact')} of batches`;
  return draft('unknown.appeared', what, { notices, contacts });
}

function draft(event: AlertName, what: string, data: AlertDraft['data']): AlertDraft {
  const { meaning, remedy } = ALERTS[event];
  return { event, title: what === '' ? meaning : `${meaning}: ${what}`, remedy, data };
}

export function heldDraft(hold: Hold): AlertDraft {
  const { kind, code, since, nextProbeAt } = hold;
  const { reason, remedy } = HOLDS[kind];
  // The reason of a manual hold is free text, and may contain anything.
  const cause = kind === 'manual' ? {} : { code };
  const data = {
    kind,
    ...cause,
    since: iso(since),
    ...(nextProbeAt > 0 ? { nextProbeAt: iso(nextProbeAt) } : {}),
  };
  return { ...draft('hold.begun', `${reason} (${kind})`, data), remedy };
}

/** @param next the hold that is in force instead */
export function liftedDraft(
  kind: HoldKind,
  since: number,
  now: number,
  next: Hold | undefined,
): AlertDraft {
  const data = { kind, since: iso(since), lastedMs: Math.max(0, now - since) };
  if (next === undefined) return draft('hold.ended', `${kind}, sending resumes`, data);
  const ended = draft('hold.ended', `${kind}, but the queue is held: ${next.kind}`, {
    ...data,
    heldBy: next.kind,
  });
  return { ...ended, remedy: HOLDS[next.kind].remedy };
}

export function missingDraft(waiting: number): AlertDraft {
  return draft('workers.none', `${countOf(waiting, 'job')} waiting`, { waiting });
}

export function backDraft(since: number, now: number): AlertDraft {
  const data = { since: iso(since), awayMs: Math.max(0, now - since) };
  return draft('workers.back', '', data);
}

export function failingDraft(change: 'on' | 'off', ends: NoticeEnds): AlertDraft {
  const { accepted, rejected, unknown, expired } = ends;
  const what = `${formatCount(rejected)} rejected, ${formatCount(unknown)} unknown, ${formatCount(expired)} expired, ${formatCount(accepted)} accepted`;
  return draft(change === 'on' ? 'notices.failing' : 'notices.recovered', what, { ...ends });
}

export function memoryDraft(change: 'on' | 'off', used: number, limit: number): AlertDraft {
  const percent = limit > 0 ? Math.round((used / limit) * 100) : 0;
  const data = { usedBytes: used, limitBytes: limit, percent };
  return draft(change === 'on' ? 'memory.near' : 'memory.eased', `${percent} % used`, data);
}

export function nearDraft({ batch, count, keptUntil }: NearSnapshot): AlertDraft {
  const until = iso(keptUntil);
  return batch === ''
    ? draft(
        'retention.near',
        `${countOf(count, 'single notice')} failed, the oldest is kept until ${until}`,
        {
          notices: count,
          keptUntil: until,
        },
      )
    : draft(
        'retention.near',
        `${countOf(count, 'contact')} of batch ${batch}, kept until ${until}`,
        {
          batch,
          contacts: count,
          keptUntil: until,
        },
      );
}

/** @returns undefined for a rejected contact: the alert at the end of its batch has their number */
export function batchDraft(event: BatchEvent): AlertDraft | undefined {
  switch (event.event) {
    case 'batch.finished': {
      const { batch, phase, total, accepted, rejected, unknown, expired, cancelled } = event;
      const twice = possiblySentTwice(event.possiblySentTwice);
      const counts = { total, accepted, rejected, unknown, expired, cancelled, ...twice };
      const open = total - accepted;
      const what =
        open === 0
          ? `batch ${batch}, all ${countOf(total, 'contact')} accepted`
          : `batch ${batch}, ${formatCount(accepted)} of ${countOf(total, 'contact')} accepted`;
      const alert = draft('batch.finished', what, { batch, phase, ...counts });
      return open === 0 ? { ...alert, remedy: 'none needed' } : alert;
    }
    case 'batch.stalled': {
      const { batch, pending } = event;
      return draft('batch.stalled', `batch ${batch}, ${countOf(pending, 'contact')} pending`, {
        batch,
        pending,
      });
    }
    case 'contact.rejected':
      return undefined;
  }
}

const iso = (at: number) => new Date(at).toISOString();
