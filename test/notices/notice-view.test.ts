import { expect, it } from 'vitest';
import { jobViewOf } from '../../src/notices/notice-view.ts';

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
