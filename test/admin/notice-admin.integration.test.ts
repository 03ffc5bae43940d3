import { expect, it, onTestFinished } from 'vitest';
import { NoticeAdmin } from '../../src/admin/index.ts';
import { NoticeQueue } from '../../src/index.ts';
import { readAudit } from '../../src/ops/audit.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { failNotices } from '../ops/support/failed-notices.ts';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';
import { startWorkerInProcess } from '../workers/support/worker-in-process.ts';

const redis = testRedis();
const WHY = { why: 'wrong template' };

function open() {
  const prefix = redis.freshPrefix();
  const queue = new NoticeQueue({ redis: connectionAs('application', redis.url), prefix });
  onTestFinished(() => queue.close());
  const admin = new NoticeAdmin({ redis: connectionAs('ops', redis.url), prefix, who: 'billing' });
  const keys = keysOf(prefix, 'default');
  const worker = async () => {
    const running = await startWorkerInProcess(redis.url, prefix);
    onTestFinished(() => running.stop());
    return running.emulator;
  };
  const audited = async () =>
    (await readAudit(redis.client, keys, 10)).map(({ who, why, what, as }) => [who, why, what, as]);
  return { queue, admin, worker, audited, prefix };
}

async function importList(queue: NoticeQueue): Promise<string> {
  const rows = numbers(4).map((contact) => ({ contact }));
  return (await queue.import(rows, { templateCode: 'T', chunkSize: 2 })).batch;
}

it('pauses, resumes and cancels a batch, with who and why in the audit stream', async () => {
  const { queue, admin, audited } = open();
  const id = await importList(queue);
  expect(await admin.pauseBatch(id, WHY)).toBe('paused');
  expect(await admin.batch(id)).toMatchObject({ id, phase: 'paused', importStopped: false });
  expect(await admin.resumeBatch(id)).toBe('sending');
  expect(await admin.cancelBatch(id, WHY)).toBe('cancelled');
  expect(await admin.batches()).toMatchObject([{ id, counts: { cancelled: 4 } }]);
  expect(await audited()).toEqual([
    ['billing', WHY.why, 'batch', 'cancelled'],
    ['billing', '', 'batch', 'resumed'],
    ['billing', WHY.why, 'batch', 'paused'],
  ]);
});

it('shows nothing of the body of the requests', async () => {
  const { queue, admin } = open();
  const id = await importList(queue);
  expect(await admin.batch(id)).not.toHaveProperty('frame');
  expect((await admin.batches(1))[0]).not.toHaveProperty('frame');
});

it('refuses what the phase does not allow, and what does not exist', async () => {
  const { queue, admin } = open();
  const id = await importList(queue);
  await admin.pauseBatch(id);
  await expect(admin.redriveBatch(id, { state: 'rejected' })).rejects.toMatchObject({
    code: 'NOT_POSSIBLE',
  });
  await admin.cancelBatch(id);
  await expect(admin.resumeBatch(id)).rejects.toMatchObject({
    code: 'NOT_POSSIBLE',
    message: expect.stringContaining('was cancelled, which is final; nothing was done') as string,
  });
  await expect(admin.pauseBatch('no-such')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(admin.redriveBatch('no-such', { state: 'rejected' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
  expect(await admin.batch('no-such')).toBeUndefined();
});

it('redrives the rejected contacts of a batch', async () => {
  const { queue, admin, worker } = open();
  const emulator = await worker();
  emulator.addFault({ on: 'send', status: 400, code: 'TEMPLATE_NOT_APPROVED' });
  const id = await importList(queue);
  const rejected = async () => (await admin.batch(id))?.counts.rejected === 4;
  await until(rejected, { what: 'the rejections' });
  emulator.clearFaults();
  const report = await admin.redriveBatch(id, { state: 'rejected' }, WHY);
  expect(report).toMatchObject({ redriven: 4, left: 0 });
  const accepted = async () => (await admin.batch(id))?.counts.accepted === 4;
  await until(accepted, { what: 'the acceptances' });
});

it('lists, redrives and deletes failed single notices', async () => {
  const { queue, admin, worker, audited } = open();
  const emulator = await worker();
  emulator.addFault({ on: 'send', status: 400, code: 'TEMPLATE_NOT_APPROVED' });
  const [one = '', other = ''] = numbers(2);
  const sent = [];
  for (const contact of [one, other]) {
    sent.push(await queue.send({ templateCode: 'T', contacts: [{ contact }] }));
  }
  const failed = async () => (await admin.failedNotices({ state: 'rejected' })).length === 2;
  await until(failed, { what: 'the failures' });
  emulator.clearFaults();
  const [first, second] = sent.map(({ id }) => id);
  expect(
    await admin.redriveNotices({ state: 'rejected', ids: [first ?? ''] }, { rate: 10, ...WHY }),
  ).toMatchObject({ done: 1, gone: 0 });
  expect(
    await admin.deleteNotices({ state: 'rejected', ids: [second ?? ''] }, { releaseKey: true }),
  ).toMatchObject({ done: 1 });
  await until(() => emulator.record().contacts === 1, { what: 'the first' });
  expect((await audited()).map(([who, , what]) => [who, what])).toEqual([
    ['billing', 'delete'],
    ['billing', 'redrive'],
  ]);
});

it.each([
  { what: 'no time', given: { before: NaN }, field: 'before' },
  { what: 'a Date', given: { before: new Date(0) }, field: 'before' },
  { what: 'a time as text', given: { since: '2026-01-01' }, field: 'since' },
  { what: 'no number', given: { limit: NaN }, field: 'limit' },
  { what: 'a negative number', given: { limit: -1 }, field: 'limit' },
  { what: 'no state', given: { state: undefined }, field: 'state' },
  { what: 'another state', given: { state: 'all' }, field: 'state' },
  { what: 'an unknown name', given: { olderThan: 1 }, field: 'olderThan' },
  { what: 'one id in place of a list', given: { ids: 'n-1' }, field: 'ids' },
  { what: 'text for true', given: { possiblySent: 'false' }, field: 'possiblySent' },
])('a selection with $what is refused, and changes nothing', async ({ given, field }) => {
  const { admin, prefix, audited } = open();
  const { ids, keys } = await failNotices(redis, prefix, { count: 2 });
  const selection = { state: 'rejected', ...given } as never;
  const refused = { code: 'REQUEST_INVALID', issues: [{ field }] };
  await expect(admin.deleteNotices(selection)).rejects.toMatchObject(refused);
  await expect(admin.redriveNotices(selection)).rejects.toMatchObject(refused);
  expect(await redis.client.zrange(keys.failedNotices, '0', '-1')).toEqual(ids);
  expect(await audited()).toEqual([]);
});

it('unknown notices are not deleted, whatever the types say', async () => {
  const { admin, prefix } = open();
  const { ids, keys } = await failNotices(redis, prefix, { count: 1, state: 'unknown' });
  await expect(admin.deleteNotices({ state: 'unknown' } as never)).rejects.toMatchObject({
    code: 'REQUEST_INVALID',
    issues: [{ field: 'state' }],
  });
  expect(await redis.client.zrange(keys.failedNotices, '0', '-1')).toEqual(ids);
});

it.each([
  { given: { limit: NaN }, field: 'limit' },
  { given: { before: new Date(0) }, field: 'before' },
  { given: { state: undefined }, field: 'state' },
  { given: { template: 'T' }, field: 'template' },
])('a redrive of a batch with $given is refused', async ({ given, field }) => {
  const { queue, admin, worker, audited } = open();
  const emulator = await worker();
  emulator.addFault({ on: 'send', status: 400, code: 'TEMPLATE_NOT_APPROVED' });
  const id = await importList(queue);
  const rejected = async () => (await admin.batch(id))?.counts.rejected === 4;
  await until(rejected, { what: 'the rejections' });
  const redrive = admin.redriveBatch(id, { state: 'rejected', ...given } as never);
  await expect(redrive).rejects.toMatchObject({ code: 'REQUEST_INVALID', issues: [{ field }] });
  expect((await admin.batch(id))?.counts).toMatchObject({ rejected: 4, pending: 0 });
  expect(await audited()).toEqual([]);
  // What has failed by then stays, as in a preview of an earlier time.
  const none = await admin.redriveBatch(id, { state: 'rejected', before: 1 });
  expect(none).toMatchObject({ redriven: 0 });
});

it.each([{ filter: { before: NaN } }, { filter: { state: 'all' } }, { most: NaN }, { most: 0.5 }])(
  'a list is not read with %j',
  async ({ filter, most }) => {
    const { admin } = open();
    const read = admin.failedNotices(filter as never, most);
    await expect(read).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
  },
);

it('batches: a number outside of the range is the end of it, and no number is refused', async () => {
  const { queue, admin } = open();
  const id = await importList(queue);
  expect(await admin.batches(Infinity)).toMatchObject([{ id }]);
  expect(await admin.batches(-1)).toMatchObject([{ id }]);
  for (const limit of [NaN, '5', null]) {
    await expect(admin.batches(limit as never)).rejects.toMatchObject({
      code: 'REQUEST_INVALID',
      issues: [{ field: 'limit' }],
    });
  }
});

it('names invalid options', () => {
  expect(() => new NoticeAdmin({ prefix: 'a b' })).toThrow(/prefix/);
  for (const who of [5, '', null]) {
    expect(() => new NoticeAdmin({ who: who as never })).toThrow(/CONFIG_INVALID|who: expected/);
  }
});

it('says that Redis is away, and not that a notice may have been queued', async () => {
  const admin = new NoticeAdmin({ redis: { url: 'redis://127.0.0.1:1' }, enqueueTimeoutMs: 300 });
  await expect(admin.batches()).rejects.toMatchObject({
    code: 'QUEUE_UNAVAILABLE',
    message: expect.stringContaining('127.0.0.1:1') as string,
  });
});
