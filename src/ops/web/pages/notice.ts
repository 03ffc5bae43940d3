import { z } from 'zod';
import { lookUpNotice } from '../../../notices/look-up.ts';
import { noticeId } from '../../../notices/notice-ref.ts';
import type { NoticeView } from '../../../notices/notice-state.ts';
import { countOf, formatCount } from '../../../format/format.ts';
import {
  describeContacts,
  describeNotKept,
  describePending,
  nextStep,
} from '../../notice-words.ts';
import { cancelNotice } from '../../operations/notice.ts';
import { html, type Part } from '../http/html.ts';
import { decision } from './decide.ts';
import { action, card, code, dot, empty, facts, moment, note, table } from './elements.ts';
import type { PageView } from './elements.ts';
import { page } from './layout.ts';

export const NOTICE = page({
  path: '/notices/:id',
  title: 'Notice',
  nav: '/notices',
  summary: 'One single notice: its state, why it waits or failed, its attempts.',
  input: z.object({ id: noticeId }),
  view: async (call, context) => noticePage(await lookUpNotice(context, call.input.id), call),
});

/** What is known of a single notice. */
export function noticePage(notice: NoticeView, view: PageView): Part {
  const { id, state, kept, pending, confirmed } = notice;
  const { template, attempts, possiblySent, delivery, message, remedy } = notice;
  const { endedAt, expiresAt, traceIds } = notice;
  if (state === 'not-kept') {
    return empty('notice', html`<p role="status">${describeNotKept(kept)}</p>`);
  }
  const step = nextStep(notice);
  const why =
    pending?.reason === 'delayed'
      ? [', delayed, due ', moment(pending.until, view.now)]
      : pending !== undefined && `, ${describePending(pending, view.now)}`;
  const unread = confirmed === false && ', but the answer could not be read completely';
  // The forms are part of the card: an open one keeps it from showing a later attempt, which they do not act on.
  return card('notice', code(id), [
    html`<p>${dot(state)}${why}${unread}</p>`,
    step !== undefined && note(step),
    facts([
      ['Template', template],
      ['Contacts', describeContacts(notice)],
      ['Delivery', delivery],
      ['Attempts', formatCount(attempts)],
      ['Possibly sent', possiblySent > 0 && countOf(possiblySent, 'time')],
      ['Trace ids', traceIds?.map((traceId) => [code(traceId), ' '])],
      ['Code', code(notice.code)],
      ['Message', message],
      ['Remedy', remedy],
      ['Expires', expiresAt !== undefined && moment(expiresAt, view.now)],
    ]),
    timeline(notice, view),
    state === 'pending' &&
      action(view, cancelNotice, {
        opens: 'Cancel...',
        says: 'It is cancelled only if it was not sent. This cannot be undone.',
        given: { id },
        asks: {
          releaseKey: 'Release its idempotency key, so that it can be sent anew with the same key',
        },
        button: 'Cancel the notice',
        danger: true,
      }),
    (state === 'unknown' || state === 'rejected') &&
      decision(view, {
        what: 'this notice',
        given: { ids: id, state, before: endedAt && endedAt + 1 },
      }),
  ]);
}

/** What is stored of it, in the order of time. */
function timeline(notice: NoticeView, view: PageView): Part {
  const { state, enqueuedAt, startedAt, endedAt, unknownAttempts = [] } = notice;
  const lastAt = unknownAttempts.at(-1)?.at ?? 0;
  // The code is of the last attempt, which may be the last of those.
  const started = endedAt === undefined && (startedAt ?? 0) > lastAt ? notice.code : undefined;
  const known = [
    { at: enqueuedAt, what: 'queued' },
    ...unknownAttempts.map((attempt) => ({ ...attempt, what: 'attempt ended, possibly sent' })),
    { at: startedAt, what: 'last attempt started', code: started },
    { at: endedAt, what: dot(state), code: notice.code },
  ];
  const rows = known.flatMap(({ at, ...row }) =>
    at === undefined ? [] : { traceId: '', ...row, at },
  );
  return table<(typeof rows)[number]>(
    'Timeline',
    [
      ['Time', ({ at }) => moment(at, view.now)],
      ['What', ({ what }) => what],
      ['Code', (row) => code(row.code)],
      ['Trace id', ({ traceId }) => traceId !== '' && code(traceId)],
    ],
    rows.sort((a, b) => a.at - b.at),
  );
}
