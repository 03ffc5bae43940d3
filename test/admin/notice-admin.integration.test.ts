import { expect, it } from 'vitest';
import { NoticeAdmin } from '../../src/admin/index.ts';
import { readAudit } from '../../src/ops/audit.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { buildBatch, contacts } from '../batch/support/built-batch.ts';
import { failNotices } from '../ops/support/failed-notices.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';

/* What the matrix of the operations does not try: options, and values that only JavaScript can pass. */

const redis = testRedis();

function open() {
  const prefix = redis.freshPrefix();
  const admin = new NoticeAdmin({ redis: connectionAs('ops', redis.url), prefix, who: 'billing' });
  const keys = keysOf(prefix, 'default');
  const audited = async () =>
    (await readAudit(redis.client, keys, 10)).map(({ who, why, what, as }) => [who, why, what, as]);
  return { admin, audited, prefix };
}

it('a batch that was cancelled is not resumed; of its requests nothing is shown', async () => {
  const { prefix, admin, audited } = open();
  await buildBatch(redis.client, prefix, 'b', [contacts(2)]);
  await admin.run('batch cancel', { id: 'b' }, { why: 'wrong template' });
  expect(await audited()).toEqual([['billing', 'wrong template', 'batch', 'cancelled']]);
  await expect(admin.run('resume', { id: 'b' })).rejects.toMatchObject({
    code: 'NOT_POSSIBLE',
    message: expect.stringContaining('was cancelled, which is final; nothing was done') as string,
  });
  expect((await admin.run('batch', { id: 'b' })).batch).not.toHaveProperty('frame');
});

it.each([
  { what: 'no time', given: { before: NaN }, field: 'before' },
  { what: 'a Date', given: { before: new Date(0) }, field: 'before' },
  { what: 'a time as text', given: { since: 'yesterday' }, field: 'since' },
  { what: 'no number', given: { limit: NaN }, field: 'limit' },
  { what: 'a negative number', given: { limit: -1 }, field: 'limit' },
  { what: 'no whole rate', given: { rate: 2.5 }, field: 'rate' },
  { what: 'another state', given: { state: 'all' }, field: 'state' },
  { what: 'an unknown name', given: { olderThan: 1 }, field: 'olderThan' },
  { what: 'one id in place of a list', given: { ids: 'n-1' }, field: 'ids' },
  { what: 'text for true', given: { possiblySent: 'false' }, field: 'possiblySent' },
])('a selection with $what is refused, and changes nothing', async ({ given, field }) => {
  const { admin, prefix, audited } = open();
  const { ids, keys } = await failNotices(redis, prefix, { count: 2 });
  const selection = { state: 'rejected', ...given } as object;
  const refused = { code: 'REQUEST_INVALID', issues: [{ field }] };
  for (const as of ['resend', 'discard'] as const) {
    await expect(admin.run('decide', { as, ...selection })).rejects.toMatchObject(refused);
  }
  expect(await redis.client.zrange(keys.endedIn('rejected'), '0', '-1')).toEqual(ids);
  expect(await audited()).toEqual([]);
});

it('names invalid options', () => {
  expect(() => new NoticeAdmin({ prefix: 'a b' })).toThrow(/prefix/);
  for (const who of [5, '', null]) {
    expect(() => new NoticeAdmin({ who: who as never })).toThrow(/CONFIG_INVALID|who: expected/);
  }
});
