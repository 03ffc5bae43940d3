import type { BatchEvent } from '../../batch/ledger/batch-events.ts';
import { possiblySentTwice } from '../../batch/ledger/batch-record.ts';
import { HOLDS, type Hold, type HoldKind } from '../../contracts/hold.ts';
import { ALERTS, type AlertDraft, type AlertName } from './alert-event.ts';
import type { NearSnapshot } from './alert-snapshot.ts';

/** The words and figures of each alert. Times in `data` are ISO 8601, spans in milliseconds. */

export function unknownDraft(notices: number, contacts: number): AlertDraft {
  const what = `${notices} notices and ${contacts} contacts of batches`;
  return draft('unknown.appeared', what, { notices, contacts });
}

function draft(event: AlertName, what: string, data: AlertDraft['data']): AlertDraft {
  const { meaning, remedy } = ALERTS[event];
  return { event, title: what === '' ? meaning : `${meaning}: ${what}`, remedy, data };
}

export function heldDraft(hold: Hold): AlertDraft {
  const { kind, code, since, nextProbeAt } = hold;
  const { reason, remedy } = HOLDS[kind];
  // What a person gave as the reason of a hold by hand may say anything.
  const said = kind === 'manual' ? {} : { code };
  const data = {
    kind,
    ...said,
    since: iso(since),
    ...(nextProbeAt > 0 ? { nextProbeAt: iso(nextProbeAt) } : {}),
  };
  return { ...draft('hold.begun', `${reason} (${kind})`, data), remedy };
}

export function liftedDraft(kind: HoldKind, since: number, now: number): AlertDraft {
  const data = { kind, since: iso(since), lastedMs: Math.max(0, now - since) };
  return draft('hold.ended', `the hold ${kind} is lifted`, data);
}

export function missingDraft(waiting: number): AlertDraft {
  return draft('workers.none', `${waiting} jobs wait`, { waiting });
}

export function backDraft(since: number, now: number): AlertDraft {
  const data = { since: iso(since), awayMs: Math.max(0, now - since) };
  return draft('workers.back', '', data);
}

export function memoryDraft(tell: 'on' | 'off', used: number, limit: number): AlertDraft {
  const percent = limit > 0 ? Math.round((used / limit) * 100) : 0;
  const data = { usedBytes: used, limitBytes: limit, percent };
  return draft(tell === 'on' ? 'memory.near' : 'memory.eased', `${percent} % is used`, data);
}

export function nearDraft({ batch, count, keptUntil }: NearSnapshot): AlertDraft {
  const until = iso(keptUntil);
  return batch === ''
    ? draft('retention.near', `${count} single notices failed, the oldest is kept until ${until}`, {
        notices: count,
        keptUntil: until,
      })
    : draft('retention.near', `${count} contacts of batch ${batch}, kept until ${until}`, {
        batch,
        contacts: count,
        keptUntil: until,
      });
}

/** A single contact that was rejected is no alert: the end of its batch tells how many were. */
export function batchDraft(event: BatchEvent): AlertDraft | undefined {
  switch (event.event) {
    case 'batch.finished': {
      const { batch, phase, total, accepted, rejected, unknown, expired, cancelled } = event;
      const twice = possiblySentTwice(event.possiblySentTwice);
      const counts = { total, accepted, rejected, unknown, expired, cancelled, ...twice };
      const open = total - accepted;
      const what =
        open === 0
          ? `batch ${batch}, all ${total} contacts were accepted`
          : `batch ${batch}, ${accepted} of ${total} contacts were accepted`;
      const alert = draft('batch.finished', what, { batch, phase, ...counts });
      return open === 0 ? { ...alert, remedy: 'nothing is to be done' } : alert;
    }
    case 'batch.stalled': {
      const { batch, pending } = event;
      return draft('batch.stalled', `batch ${batch}, ${pending} contacts pending`, {
        batch,
        pending,
      });
    }
    case 'contact.rejected':
      return undefined;
  }
}

const iso = (at: number) => new Date(at).toISOString();
