import { expect, it } from 'vitest';
import { NO_HISTORY } from '../../src/fleet/job-history.ts';
import { endedView, noticeView } from '../../src/notices/look-up.ts';

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
  { accepted: 5 },
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

it('a number that is none is not shown', () => {
  const data = { accepted: ['01012345678', 5], notice: { contacts: [null, { contact: 7 }] } };
  expect(view(data)).toMatchObject({
    contacts: 3,
    contactStates: [{ contact: '010******78', state: 'accepted' }],
  });
});

it.each([
  ['a part of it', { v: 1, notice: { contacts: [] }, accepted: ['01012345678'] }],
  ['a part of it, encrypted', { v: 2, notice: { contacts: 1, sealed: '' }, accepted: 1 }],
])('a notice that expires after %s was accepted is not called unsent', (_, data) => {
  const ended = {
    id: 'job',
    text: '',
    at: 1,
    state: 'expired',
    code: 'EXPIRED',
    template: '',
    contacts: 0,
    attempts: 0,
    possiblySent: 0,
    data: JSON.stringify(data),
  } as const;
  const remedy = 'Check the notice at the service before you send it again.';
  expect(endedView(ended)).toMatchObject({ state: 'expired', remedy });
});
