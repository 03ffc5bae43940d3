import { describe, expect, it } from 'vitest';
import type { Notice } from '../../src/index.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { contacts, contactsOf, queuesOn, waitingIds, waitingJobs } from './support/stored-jobs.ts';

const redis = testRedis();

const queueIn = queuesOn(redis);

const notices = (count: number): Notice[] =>
  contacts(count).map((contact) => ({ templateCode: 'T', contacts: [contact] }));

const numbersOf = (list: readonly Notice[]) =>
  list.flatMap((notice) => notice.contacts.map(({ contact }) => contact));

async function* later(list: readonly Notice[]): AsyncGenerator<Notice> {
  for (const notice of list) {
    await Promise.resolve();
    yield notice;
  }
}

describe('sendMany', () => {
  it.each([
    { form: 'a list', of: (list: Notice[]) => list },
    { form: 'a set', of: (list: Notice[]) => new Set(list) },
    { form: 'a generator', of: (list: Notice[]) => list.values() },
    { form: 'an async generator', of: later },
  ])('takes $form and answers one receipt each, in order', async ({ of }) => {
    const prefix = redis.freshPrefix();
    const list = notices(1_234);
    const receipts = await queueIn(prefix).sendMany(of(list));
    const jobs = await waitingJobs(redis.client, prefix);
    expect(jobs.map(({ id }) => id)).toEqual(receipts.map(({ id }) => id));
    expect(contactsOf(jobs)).toEqual(numbersOf(list));
    expect(receipts.every(({ duplicate, contacts: count }) => !duplicate && count === 1)).toBe(
      true,
    );
  });

  it('is sent at its time, however long the list takes to be read', async () => {
    const queue = queueIn(redis.freshPrefix());
    const startedAt = Date.now();
    const slowly = async function* () {
      yield* notices(1);
      await until(() => Date.now() > startedAt + 300, { what: 'a slow source' });
      yield* notices(1);
    };
    const sendAt = startedAt + 3_600_000;
    const [first, second] = await queue.sendMany(slowly(), { sendAt });
    for (const receipt of [first, second]) {
      expect(await queue.get(receipt?.id ?? '')).toMatchObject({
        pending: { reason: 'delayed', until: sendAt },
      });
    }
  });

  it('none at all is no call', async () => {
    const prefix = redis.freshPrefix();
    expect(await queueIn(prefix).sendMany([])).toEqual([]);
    expect(await redis.keys(prefix)).toEqual([]);
  });
});

describe('sendMany, none if one is wrong', () => {
  const wrong: Notice = { templateCode: 'T', contacts: [{ contact: '1' }, { contact: '010-1' }] };

  it('of a list that comes slowly, too', async () => {
    const prefix = redis.freshPrefix();
    const list = [...notices(700), wrong, ...notices(3)];
    await expect(queueIn(prefix).sendMany(later(list))).rejects.toMatchObject({
      name: 'InputError',
      code: 'NOTICE_INVALID',
      issues: [{ field: 'notices[700].contacts[1].contact' }],
    });
    expect(await redis.keys(prefix)).toEqual([]);
  });

  it.each([null, undefined, 7, true, 'text', { templateCode: 'T' }])(
    '%s is no list of notices',
    async (value) => {
      const prefix = redis.freshPrefix();
      const sending = queueIn(prefix).sendMany(value as unknown as Notice[]);
      await expect(sending).rejects.toMatchObject({ issues: [{ field: 'notices' }] });
      expect(await redis.keys(prefix)).toEqual([]);
    },
  );

  it('wrong options, for all and for one', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
    const rows: [unknown, string][] = [
      [{ delay: -1 }, 'options.delay'],
      [{ idempotencyKey: 5 }, 'options.idempotencyKey'],
      [{ idempotencyKey: '' }, 'options.idempotencyKey'],
      [{ ttl: 1 }, 'options.ttl'],
      [null, 'options'],
      [7, 'options'],
      [
        (_: Notice, index: number) => (index === 2 ? { delay: 'x' } : {}),
        'notices[2] options.delay',
      ],
      [() => 7, 'notices[0] options'],
      // The keys in it would not count.
      [() => Promise.resolve({ idempotencyKey: 'k' }), 'notices[0] options'],
    ];
    for (const [options, field] of rows) {
      const sending = queue.sendMany(notices(4), options as { delay: number });
      await expect(sending).rejects.toMatchObject({ name: 'InputError', issues: [{ field }] });
    }
    expect(await redis.keys(prefix)).toEqual([]);
  });

  it("the caller's own error, when its list breaks off", async () => {
    const prefix = redis.freshPrefix();
    const broken = async function* () {
      yield* later(notices(3));
      throw new Error('the file broke off');
    };
    await expect(queueIn(prefix).sendMany(broken())).rejects.toThrow('the file broke off');
    expect(await redis.keys(prefix)).toEqual([]);
  });
});

describe('sendMany with one key for all', () => {
  const KEY = { idempotencyKey: 'import-7' };

  it('can be repeated: each notice is sent once', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
    const list = [...notices(20), { templateCode: 'T', contacts: contacts(3) }];
    const first = await queue.sendMany(list, KEY);
    const again = await queue.sendMany(later(list), KEY);
    expect(again).toEqual(first.map((receipt) => ({ ...receipt, duplicate: true })));
    expect(await waitingIds(redis.client, prefix)).toHaveLength(21);
  });

  it('a key of another notice: nothing is queued', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
    const list = notices(6);
    await queue.sendMany(list.slice(0, 3), KEY);
    const before = await waitingIds(redis.client, prefix);
    const changed = list.map((notice, index) =>
      index === 2 ? { ...notice, templateCode: 'OTHER' } : notice,
    );
    await expect(queue.sendMany(changed, KEY)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
      message: expect.stringContaining('notices[2]') as string,
    });
    expect(await waitingIds(redis.client, prefix)).toEqual(before);
  });

  it('one key for two notices of one call: a duplicate if they are the same, else a conflict', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
    const [one, two] = notices(2);
    if (one === undefined || two === undefined) throw new Error('no notices');
    const same = () => ({ idempotencyKey: 'same' });
    await expect(queue.sendMany([one, two], same)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    });
    expect(await waitingIds(redis.client, prefix)).toEqual([]);
    const receipts = await queue.sendMany([one, one], same);
    expect(receipts.map(({ duplicate }) => duplicate)).toEqual([false, true]);
    expect(await waitingIds(redis.client, prefix)).toHaveLength(1);
  });
});
