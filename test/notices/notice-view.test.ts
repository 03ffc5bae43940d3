import { expect, it } from 'vitest';
import { jobViewOf, noticeView } from '../../src/notices/notice-view.ts';

const view = (data: unknown) =>
  jobViewOf({
    id: 'job',
    place: 'failed',
    due: 0,
    fields: { data: typeof data === 'string' ? data : JSON.stringify(data) },
    intentOpen: false,
    listed: undefined,
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
    state: 'rejected',
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

it('a notice of several jobs has the trace ids of all', () => {
  const job = { state: 'unknown', contacts: 1, attempts: 1, possiblySent: 1 } as const;
  const jobs = [
    { ...job, id: 'n-0', traceIds: ['t-1', 't-2'] },
    { ...job, id: 'n-1' },
    { ...job, id: 'n-2', traceIds: ['t-3'] },
  ];
  const stored = { now: 0, id: 'n', total: 3, jobs: [], hold: {}, rateLimit: {}, retention: {} };
  expect(noticeView(stored, jobs)).toMatchObject({ id: 'n', traceIds: ['t-1', 't-2', 't-3'] });
  expect(noticeView(stored, jobs.slice(1, 2))).not.toHaveProperty('traceIds');
});

it.each([
  ['a part of it', { v: 1, notice: { contacts: [] }, accepted: ['01012345678'] }],
  ['a part of it, encrypted', { v: 2, notice: { contacts: 1, sealed: '' }, accepted: 1 }],
])('a notice that expires after %s was accepted is not called unsent', (_, data) => {
  const fields = { data: JSON.stringify(data), returnvalue: '{"outcome":"expired"}' };
  const job = {
    id: 'job',
    place: 'completed',
    due: 0,
    intentOpen: false,
    listed: undefined,
  } as const;
  const remedy = 'Check the notice at the service before you send it again.';
  expect(jobViewOf({ ...job, fields })).toMatchObject({ state: 'expired', remedy });
});
