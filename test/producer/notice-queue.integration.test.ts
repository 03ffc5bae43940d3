import { describe, expect, it } from 'vitest';
import { testRedis } from '../support/redis.ts';
import {
  contacts,
  contactsOf,
  publishedSchema,
  queuesOn,
  storedJob,
  waitingIds,
  waitingJobs,
} from './support/stored-jobs.ts';

const redis = testRedis();
const queueIn = queuesOn(redis);

const NOTICE = { templateCode: 'ORDER', contacts: contacts(1) };

describe('send', () => {
  it('queues one job and answers a receipt that names it', async () => {
    const prefix = redis.freshPrefix();
    const receipt = await queueIn(prefix).send(NOTICE);
    expect(receipt).toEqual({ id: receipt.id, contacts: 1, duplicate: false });
    expect(await waitingIds(redis.client, prefix)).toEqual([receipt.id]);
    const job = await storedJob(redis.client, prefix, receipt.id);
    expect(job.data).toEqual({ v: 1, notice: { ...NOTICE, scheduleType: 'DIRECTLY' } });
    expect(job.delay).toBe(0);
  });

  it('writes jobs that match docs/job.schema.json', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
    const schema = publishedSchema();
    await queue.send(NOTICE);
    await queue.send(
      {
        ...NOTICE,
        scheduleType: 'SCHEDULED',
        chatSenderKey: 'c',
        senderKey: 's',
        at: '2030-01-01 00:00:00',
        contacts: contacts(5).map((contact) => ({ ...contact, var1: 'a', name: '김' })),
      },
      { expiresAt: Date.now() + 60_000, idempotencyKey: 'k' },
    );
    const jobs = await waitingJobs(redis.client, prefix);
    expect(jobs).toHaveLength(2);
    for (const { data } of jobs) expect(schema.safeParse(data).error).toBeUndefined();
  });

  it('takes 1,000 contacts as one job, in order, whatever CHUNK_SIZE is', async () => {
    const prefix = redis.freshPrefix();
    const list = contacts(1_000);
    const receipt = await queueIn(prefix, { chunkSize: 100 }).send({ ...NOTICE, contacts: list });
    const jobs = await waitingJobs(redis.client, prefix);
    expect(jobs.map(({ id }) => id)).toEqual([receipt.id]);
    expect(contactsOf(jobs)).toEqual(list.map(({ contact }) => contact));
  });

  it('refuses more than 1,000 contacts, names import(), and queues nothing', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
    const long = { ...NOTICE, contacts: contacts(1_001) };
    const refused = {
      code: 'NOTICE_INVALID',
      message: expect.stringContaining('import()') as string,
    };
    await expect(queue.send(long)).rejects.toMatchObject({
      ...refused,
      issues: [{ field: 'contacts' }],
    });
    await expect(queue.sendMany([NOTICE, long])).rejects.toMatchObject({
      ...refused,
      issues: [{ field: 'notices[1].contacts' }],
    });
    expect(await waitingIds(redis.client, prefix)).toEqual([]);
  });

  it('takes the notice as it is at the call', async () => {
    const prefix = redis.freshPrefix();
    const notice = { ...NOTICE, contacts: [{ contact: '0101', fields: { tags: ['a'] } }] };
    const sending = queueIn(prefix).send(notice);
    notice.contacts[0]?.fields.tags.push('b');
    notice.contacts.push({ contact: '0102', fields: { tags: [] } });
    const { id } = await sending;
    const { data } = await storedJob(redis.client, prefix, id);
    expect(data.notice['contacts']).toEqual([{ contact: '0101', tags: ['a'] }]);
  });

  it('keeps to its prefix and account, and leaves the settings of the queue to the worker', async () => {
    const prefix = redis.freshPrefix();
    await queueIn(prefix, { account: 'second' }).send(NOTICE);
    const keys = await redis.keys(prefix);
    expect(keys.every((key) => key.startsWith(`{${prefix}:second}:send:`))).toBe(true);
    // Written by BullMQ's own script for every job; nothing else of the settings is.
    const meta = await redis.client.hkeys(`{${prefix}:second}:send:meta`);
    expect(meta).toEqual(['opts.maxLenEvents']);
  });
});
