import { expect, it } from 'vitest';
import { NO_HISTORY } from '../../src/fleet/job-history.ts';
import { noticeView } from '../../src/notices/look-up.ts';

const view = (data: unknown) =>
  noticeView({
    id: 'job',
    place: 'wait',
    due: 0,
    fields: { data: typeof data === 'string' ? data : JSON.stringify(data) },
    history: NO_HISTORY,
    intentOpen: false,
    ended: undefined,
  });

it.each([
  '{"v":1',
  null,
  5,
  [],
  { notice: null },
  { notice: { contacts: {} } },
  { expiresAt: 1e300 },
  { delivery: { a: 1 } },
  { notice: { templateCode: ' '.repeat(1_000) } },
])('a job whose data no worker can read is shown without them: %#', (data) => {
  expect(view(data)).toEqual({
    id: 'job',
    state: 'pending',
    pending: { reason: 'waiting' },
    attempts: 0,
    possiblySent: 0,
    contacts: 0,
    delivery: 'at-least-once',
  });
});

it('an encrypted job is shown with its template and the number of its contacts', () => {
  const notice = { templateCode: 'T', contacts: 1, sealed: 'x' };
  expect(view({ v: 2, notice })).toMatchObject({ template: 'T', contacts: 1 });
});
