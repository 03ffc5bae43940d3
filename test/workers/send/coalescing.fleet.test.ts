import type { Queue } from 'bullmq';
import { afterEach, describe, expect, it } from 'vitest';
import type { Notice } from '../../../src/contracts/notice.ts';
import type { SendOptions } from '../../../src/contracts/send-options.ts';
import type { EmulatorOptions } from '../../../src/emulator/options.ts';
import { listUnknownNotices } from '../../../src/ops/unknown.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { numbers, startFleet, type Fleet, type LogLine } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

/** A dead worker's jobs come back within seconds, and a lost answer is noticed soon. */
const SHORT = {
  LOCK_DURATION_MS: '4000',
  STALLED_INTERVAL_MS: '500',
  SEND_DEADLINE_MS: '1900',
  ANSWER_TIMEOUT_MS: '1000',
  CONNECT_TIMEOUT_MS: '300',
  ISSUE_DEADLINE_MS: '1900',
  TOKEN_LOCK_TTL_MS: '3000',
  BACKOFF_BASE_MS: '50',
  BACKOFF_CAP_MS: '200',
  HOLD_PROBE_MIN_MS: '100',
};

/** As many as are fetched before the first is run, so that they make the first group. */
const FIRST = 12;
const LONG = { deadlineMs: 40_000 };

/** Coalescing as users meet it: real workers, the emulator over HTTP, one Redis. */
describe('single notices that wait together', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;
  let board: Queue | undefined;

  afterEach(async () => {
    await board?.close();
    await fleet?.close();
    board = undefined;
    fleet = undefined;
  });

  /** Queues the notices first, so that they wait when the worker comes. */
  async function begin(
    notices: readonly Notice[],
    {
      env = {},
      emulator = {},
      options = {},
    }: {
      env?: Readonly<Record<string, string>>;
      emulator?: EmulatorOptions;
      options?: SendOptions;
    } = {},
  ) {
    const prefix = redis.freshPrefix();
    const keys = keysOf(prefix, 'default');
    const on = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 0,
      env: { ...SHORT, CONCURRENCY: String(FIRST), COALESCE_MAX_CONTACTS: '100', ...env },
      emulator,
    });
    fleet = on;
    const jobs = openBullQueue(QUEUE_NAME, redis.connect({ name: 'board' }), keys);
    board = jobs;
    const receipts = await on.queue.sendMany(notices, options);
    const ids = receipts.map(({ id }) => id);
    const ended = (state: 'completed' | 'failed', count: number) =>
      until(async () => (await jobs.getJobCountByTypes(state)) === count, {
        what: `${count} jobs ${state}`,
        ...LONG,
      });
    /** Lines of attempts; they come through a pipe, after the ends of their jobs. */
    const lines = (count: number) =>
      until(() => (on.attempts().length >= count ? on.attempts() : undefined), {
        what: `${count} lines`,
        ...LONG,
      });
    return { on, keys, jobs, ids, ended, lines };
  }

  const to = (list: readonly string[], more: object = {}): Notice[] =>
    list.map((contact, index) => ({
      templateCode: 'GROUP',
      ...more,
      contacts: [{ contact, var1: `for ${contact}`, var2: String(index) }],
    }));
  const jobsOf = (lines: readonly LogLine[]) => lines.map(({ job }) => String(job)).toSorted();
  /** Contacts by request, in the order of the requests. */
  const requestsOf = (on: Fleet) => {
    const requests = new Map<string, { contact: string; template: string; vars: object }[]>();
    for (const { requestId, contact, templateCode: template, vars } of on.emulator.details()) {
      const request = requests.get(requestId) ?? [];
      request.push({ contact, template, vars });
      requests.set(requestId, request);
    }
    return [...requests.values()];
  };

  it('go in few requests, each number once, each job with its own line and result', async () => {
    const list = numbers(400);
    const { on, jobs, ids, ended, lines } = await begin(to(list), {
      env: { CONCURRENCY: '2', COALESCE_MAX_CONTACTS: '25' },
      emulator: { latencyMs: 20 },
    });
    await on.addWorker();
    await ended('completed', list.length);
    const record = on.emulator.record();
    expect(record).toMatchObject({ contacts: 400, distinct: 400, twice: 0 });
    expect(record.requests).toBeGreaterThanOrEqual(400 / 25);
    expect(record.requests).toBeLessThan(200);
    const sizes = requestsOf(on).map((request) => request.length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(25);
    // Each contact arrived with its own variables.
    for (const { contact, vars } of on.emulator.details()) {
      expect(vars).toMatchObject({ var1: `for ${contact}` });
    }
    const all = await lines(list.length);
    expect(jobsOf(all)).toEqual(ids.toSorted());
    expect(all.every(({ outcome, attempt }) => outcome === 'accepted' && attempt === 1)).toBe(true);
    expect(all.some(({ together }) => Number(together) > 5)).toBe(true);
    const done = await jobs.getJobs(['completed'], 0, 20);
    expect(done.every(({ attemptsMade }) => attemptsMade === 1)).toBe(true);
    expect(done.map(({ returnvalue }) => returnvalue as unknown)).toEqual(
      done.map(() => ({ outcome: 'accepted', confirmed: true })),
    );
  }, 90_000);

  it('but not where it is not turned on, nor a lone one', async () => {
    // A variable that is set to nothing has its default.
    const { on, ended, lines } = await begin(to(numbers(60)), {
      env: { COALESCE_MAX_CONTACTS: '' },
    });
    await on.addWorker();
    await ended('completed', 60);
    expect(on.emulator.record()).toMatchObject({ requests: 60, distinct: 60, twice: 0 });
    expect((await lines(60)).every(({ together }) => together === undefined)).toBe(true);
    await on.sendEach(numbers(1, 100));
    await ended('completed', 61);
    expect(on.emulator.record()).toMatchObject({ requests: 61 });
  }, 60_000);

  it('never share a request with another template, sender key or unknown field', async () => {
    const list = numbers(240);
    const kinds = [{}, { templateCode: 'OTHER' }, { senderKey: 'K' }, { at: 'later' }];
    const notices = list.flatMap((contact, index) => to([contact], kinds[index % kinds.length]));
    const { on, ended } = await begin(notices, { env: { CONCURRENCY: '4' } });
    await on.addWorker();
    await ended('completed', list.length);
    expect(on.emulator.record()).toMatchObject({ distinct: 240, twice: 0 });
    expect(on.emulator.record().requests).toBeLessThan(200);
    const kindOf = (contact: string) => list.indexOf(contact) % kinds.length;
    for (const { contact, templateCode, fields } of on.emulator.details()) {
      const { templateCode: expected = 'GROUP', ...others } = kinds[kindOf(contact)] ?? {};
      expect(templateCode).toBe(expected);
      expect(fields).toMatchObject(others);
      expect(Object.keys(fields)).toHaveLength(2 + Object.keys(others).length);
    }
    for (const request of requestsOf(on)) {
      expect(new Set(request.map(({ contact }) => kindOf(contact))).size).toBe(1);
    }
  }, 60_000);

  it('never hold a number twice in a request, and those to one number keep their order', async () => {
    const three = numbers(3);
    const list = Array.from({ length: 60 }, (_, index) => three[index % 3] ?? '');
    // One request at a time: what is sent later also arrives later.
    const { on, ended } = await begin(to(list), { env: { CONCURRENCY: '1' } });
    await on.addWorker();
    await ended('completed', list.length);
    expect(on.emulator.record()).toMatchObject({ contacts: 60, distinct: 3 });
    for (const request of requestsOf(on)) {
      const contacts = request.map(({ contact }) => contact);
      expect(new Set(contacts).size).toBe(contacts.length);
    }
    for (const number of three) {
      const order = on.emulator
        .details()
        .filter(({ contact }) => contact === number)
        .map(({ vars }) => Number(vars['var2']));
      expect(order).toHaveLength(20);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
    }
  }, 60_000);

  it('are accepted although one of them spoils the request, which alone is rejected', async () => {
    const list = numbers(FIRST);
    const [spoiler = ''] = list.slice(7);
    const { on, ids, jobs, ended, lines } = await begin(to(list), {
      emulator: { rejectContacts: [spoiler] },
    });
    const worker = await on.addWorker();
    await ended('completed', FIRST - 1);
    await ended('failed', 1);
    expect(on.emulator.record()).toMatchObject({ distinct: FIRST - 1, twice: 0 });
    const rejected = await jobs.getJob(ids[7] ?? '');
    expect(rejected?.failedReason).toMatch(/^INVALID_CONTACT: HTTP 400/);
    expect(rejected?.attemptsMade).toBe(1);
    const all = await lines(FIRST);
    expect(jobsOf(all)).toEqual(ids.toSorted());
    expect(all.filter(({ outcome }) => outcome === 'rejected')).toMatchObject([
      { job: ids[7], code: 'INVALID_CONTACT', attempt: 1 },
    ]);
    expect(worker.lines.find(({ event }) => event === 'group-refused')).toMatchObject({
      notices: FIRST,
      code: 'INVALID_CONTACT',
    });
  }, 60_000);

  it('meet a 401 together: one renewal, all accepted, none twice', async () => {
    const { on, ended, lines } = await begin(to(numbers(FIRST)));
    on.emulator.addFault({ on: 'send', status: 401, times: 1 });
    await on.addWorker();
    await ended('completed', FIRST);
    expect(on.emulator.record()).toMatchObject({ requests: 1, distinct: FIRST, twice: 0 });
    const all = await lines(FIRST);
    expect(all.every(({ requests, together }) => requests === 2 && together === FIRST)).toBe(true);
  }, 60_000);

  it('meet a hold together: all go back unspent, and one of them probes', async () => {
    const { on, ended, lines } = await begin(to(numbers(FIRST)));
    on.emulator.addFault({ on: 'send', status: 402, times: 1 });
    await on.addWorker();
    await ended('completed', FIRST);
    expect(on.emulator.record()).toMatchObject({ distinct: FIRST, twice: 0 });
    const all = await lines(2 * FIRST);
    const held = all.filter(({ outcome }) => outcome === 'hold');
    expect(held).toHaveLength(FIRST);
    expect(held.every(({ together, code }) => together === FIRST && code === 'HTTP_402')).toBe(
      true,
    );
    const probes = all.filter(({ probe }) => probe === true);
    expect(probes).toMatchObject([{ outcome: 'accepted' }]);
    expect(probes[0]).not.toHaveProperty('together');
    expect(all.every(({ attempt }) => attempt === 1)).toBe(true);
  }, 60_000);

  it('whose answer is lost are unknown, each, and each is tried again alone', async () => {
    const { on, ids, ended, lines } = await begin(to(numbers(FIRST)));
    on.emulator.addFault({ on: 'send', hang: 'after-acting', times: 1 });
    await on.addWorker();
    await ended('completed', FIRST);
    expect(on.emulator.record()).toMatchObject({ requests: 1 + FIRST, distinct: FIRST });
    const all = await lines(2 * FIRST);
    const unknown = all.filter(({ outcome }) => outcome === 'unknown');
    expect(jobsOf(unknown)).toEqual(ids.toSorted());
    expect(unknown.every(({ together }) => together === FIRST)).toBe(true);
    const accepted = all.filter(({ outcome }) => outcome === 'accepted');
    expect(jobsOf(accepted)).toEqual(ids.toSorted());
    expect(accepted.every(({ attempt, together }) => attempt === 2 && !together)).toBe(true);
  }, 60_000);

  it('at most once, whose answer is lost, are listed as unknown and never sent again', async () => {
    const { on, keys, ids, ended, lines } = await begin(to(numbers(FIRST)), {
      options: { delivery: 'at-most-once' },
    });
    on.emulator.addFault({ on: 'send', hang: 'after-acting', times: 1 });
    await on.addWorker();
    await ended('failed', FIRST);
    const listed = await listUnknownNotices({ redis: redis.client, keys });
    expect(listed.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(listed.every(({ stage }) => stage === 'sent')).toBe(true);
    expect(on.emulator.record()).toMatchObject({ requests: 1, distinct: FIRST, twice: 0 });
    expect((await lines(FIRST)).every(({ outcome }) => outcome === 'unknown')).toBe(true);
  }, 60_000);

  it.each(['at-least-once', 'at-most-once'] as const)(
    '%s, whose worker is SIGKILLed in the middle of the request, end in one known state each',
    async (delivery) => {
      const { on, keys, ids, ended } = await begin(to(numbers(FIRST)), { options: { delivery } });
      on.emulator.addFault({ on: 'send', hang: 'after-acting', times: 1 });
      const worker = await on.addWorker();
      await until(() => on.emulator.record().contacts === FIRST, { what: 'the request', ...LONG });
      worker.kill('SIGKILL');
      await worker.ended;
      await on.addWorker();
      if (delivery === 'at-least-once') {
        await ended('completed', FIRST);
        // All were in flight at the fault, so all were sent twice, and none three times.
      } else {
        await ended('failed', FIRST);
      }
      const listed = await listUnknownNotices({ redis: redis.client, keys });
      const again = delivery === 'at-least-once';
      expect(listed.map(({ id }) => id).toSorted()).toEqual(again ? [] : ids.toSorted());
      expect(on.emulator.record()).toMatchObject(
        again
          ? { distinct: FIRST, twice: FIRST, contacts: 2 * FIRST }
          : { requests: 1, distinct: FIRST, twice: 0 },
      );
    },
    90_000,
  );

  it('are sent twice by default only where their own request was in flight at a SIGKILL', async () => {
    const { on, ended } = await begin(to(numbers(400)), {
      env: { COALESCE_MAX_CONTACTS: '', CONCURRENCY: '16' },
      emulator: { latencyMs: 30 },
    });
    const worker = await on.addWorker();
    await until(() => on.emulator.record().contacts >= 100, { what: 'a quarter', ...LONG });
    worker.kill('SIGKILL');
    await worker.ended;
    await on.addWorker();
    await ended('completed', 400);
    expect(on.emulator.record().distinct).toBe(400);
    expect(on.emulator.record().twice).toBeLessThanOrEqual(16);
  }, 90_000);

  it('of which one belongs to another worker meanwhile are sent without it', async () => {
    // One request at a time, and the first ones take longer than a lock goes without renewal.
    const slow = ['A', 'B', 'C', 'D'].flatMap((templateCode, index) =>
      to(numbers(1, 100 + index), { templateCode }),
    );
    const { on, keys, ids, jobs, lines } = await begin([...slow, ...to(numbers(FIRST))], {
      env: {
        CONCURRENCY: '1',
        LOCK_DURATION_MS: '6000',
        SEND_DEADLINE_MS: '2900',
        ANSWER_TIMEOUT_MS: '2500',
        LOG_LEVEL: 'debug',
      },
    });
    on.emulator.addFault({ on: 'send', latencyMs: 1_200, times: slow.length });
    await on.addWorker();
    const id = ids.at(-2) ?? '';
    await until(async () => (await jobs.getJobState(id)) === 'active', { what: 'it to wait' });
    await redis.client.set(keys.noticeLock(id), 'of another worker', 'PX', 60_000);
    const all = await lines(slow.length + FIRST);
    expect(all.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(
      slow.length + FIRST - 1,
    );
    expect(all.filter(({ outcome }) => outcome === 'returned')).toMatchObject([{ job: id }]);
    expect(on.emulator.record().distinct).toBe(slow.length + FIRST - 1);
    expect(await jobs.getJobState(id)).toBe('active');
  }, 90_000);
});
