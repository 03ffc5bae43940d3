import { formatCount } from '../../../format/format.ts';
import { readAudit, type KeptAudit } from '../../audit.ts';
import type { OperationOutput } from '../../operations/operations.ts';
import { endUserSession, listSessions } from '../../operations/sessions.ts';
import type { Part } from '../http/html.ts';
import { action, card, empty, mayAct, moment, para, table, type PageView } from './elements.ts';
import { page } from './layout.ts';

/** The audit stream, newest first; for operators also the people who are signed in. */
export const AUDIT = page({
  path: '/audit',
  title: 'Audit',
  summary: 'The audit stream: manual actions.',
  view: async (call, context) => {
    const entries = await readAudit(context.redis, context.keys, 200, call.who?.role ?? '');
    const actor = { who: call.name, why: '' };
    const signedIn =
      mayAct(call) && sessions((await listSessions.run(context, {}, actor)).sessions, call);
    return [signedIn, auditTable(entries, call)];
  },
});

function auditTable(entries: readonly KeptAudit[], { now }: PageView): Part {
  if (entries.length === 0) {
    return empty('audit', para('No manual action has been recorded yet.'));
  }
  const list = table<KeptAudit>(
    'Manual actions',
    [
      ['When', ({ at }) => moment(at, now)],
      ['Who', ({ who }) => who],
      ['What', ({ what }) => what],
      ['Target', ({ target }) => target],
      ['Decision', ({ as }) => as],
      ['Contacts', ({ contacts }) => contacts !== undefined && formatCount(contacts), 'number'],
      ['Why', ({ why }) => why],
    ],
    entries,
  );
  return card('audit', undefined, list);
}

function sessions(people: OperationOutput<'sessions list'>['sessions'], view: PageView): Part {
  if (people.length === 0) return false;
  const list = table(
    'People who are signed in',
    [
      ['User', ({ user }) => user],
      ['Since', ({ since }) => moment(since, view.now)],
      ['Last seen', ({ seenAt }) => moment(seenAt, view.now)],
      ['From', ({ network }) => network],
    ],
    people,
    ({ user }) =>
      action(view, endUserSession, {
        opens: 'End the session...',
        says: `${user} has to sign in anew.`,
        given: { user },
        button: 'End the session',
      }),
  );
  return card('sessions', 'Signed in', list);
}
