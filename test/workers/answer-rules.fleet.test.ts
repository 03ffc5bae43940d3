import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { EXAMPLE_RULES } from '../../scripts/answers-page.ts';
import type { Batch } from '../../src/batch/ledger/batch-record.ts';
import type { SendOptions } from '../../src/contracts/send-options.ts';
import type { NoticeView } from '../../src/notices/notice-state.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import type { FindReport } from '../../src/search/find-contact.ts';
import { listUnknownNotices } from '../../src/ops/unknown.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';
import { readTraffic } from '../../src/traffic/traffic.ts';
import { run } from '../cli/support/run.ts';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';

const LONG = { deadlineMs: 30_000 };
const FIND_KEY = 'f'.repeat(64);

/** A service that answers 200 and reports errors in its body, as it looks from outside. */
describe('answers with ANSWER_RULES_FILE', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;
  const folders: string[] = [];

  afterEach(async () => {
    await fleet?.close();
    fleet = undefined;
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  async function start(rules: object = EXAMPLE_RULES, payloadKey?: string) {
    const prefix = redis.freshPrefix();
    const folder = mkdtempSync(path.join(tmpdir(), 'notices-rules-'));
    folders.push(folder);
    const file = path.join(folder, 'rules.json');
    writeFileSync(file, JSON.stringify(rules));
    const on = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 0,
      env: {
        ANSWER_RULES_FILE: file,
        BACKOFF_BASE_MS: '50',
        BACKOFF_CAP_MS: '100',
        HEARTBEAT_MS: '200',
        FIND_KEY,
        ...(payloadKey === undefined ? {} : { PAYLOAD_KEY: payloadKey }),
      },
    });
    fleet = on;
    const keys = keysOf(prefix, 'default');
    const answer = (body: object, status = 200) =>
      on.emulator.addFault({ on: 'send', status, body, times: 1 });
    /** Answers the next request with these results: number, status, code. */
    const results = (...all: readonly (readonly [string, string, string?])[]) =>
      answer({
        data: { results: all.map(([contact, status, code]) => ({ contact, status, code })) },
      });
    const send = async (contacts: readonly string[], options: SendOptions = {}) => {
      const queue = new NoticeQueue({
        redis: connectionAs('application', redis.url),
        prefix,
        findKey: FIND_KEY,
        payloadKey,
      });
      const notice = { templateCode: 'T', contacts: contacts.map((contact) => ({ contact })) };
      const { id } = await queue.send(notice, options);
      await queue.close();
      return id;
    };
    const line = (job: string, outcome: string) =>
      until(
        () => on.attempts().find((each) => each['job'] === job && each['outcome'] === outcome),
        { what: `${outcome} of ${job}`, ...LONG },
      );
    const countsAtEnd = (batch: string) =>
      until(
        async () => {
          const { stdout } = await run(['batch', batch, '--json'], { ...on.env });
          const shown = (JSON.parse(stdout) as { batch: Batch }).batch;
          return shown.phase === 'finished' ? shown.counts : undefined;
        },
        { what: 'the end', ...LONG },
      );
    const find = async (contact: string) => {
      const { stdout } = await run(['find', contact, '--json'], { ...on.env });
      return (JSON.parse(stdout) as FindReport).notices[0]?.states;
    };
    const stored = async (id: string) =>
      (await redis.client.hget(keys.noticeJob(id), 'data')) ?? '';
    return { on, keys, answer, results, send, line, find, stored, countsAtEnd };
  }

  const [a = '', b = '', c = '', d = '', e = '', f = ''] = numbers(6);

  it('are rejected, sent again or held, where the built-in table would accept them', async () => {
    const { on, answer, send, line, find } = await start();
    answer({ code: 'TEMPLATE_NOT_APPROVED', message: 'not yet' });
    const first = await send([a]);
    await on.addWorker();
    expect(await line(first, 'rejected')).toMatchObject({
      code: 'TEMPLATE_NOT_APPROVED',
      status: 200,
      rule: 1,
    });
    expect(await find(a)).toEqual(['rejected']);
    answer({ data: { status: 'BUSY' } });
    const second = await send([b]);
    expect(await line(second, 'retry')).toMatchObject({ code: 'ANSWER_RULE_2', rule: 2 });
    expect(await line(second, 'accepted')).toMatchObject({ attempt: 2 });
    answer({ error: { code: 'QUOTA_EXCEEDED' } }, 400);
    const third = await send([c]);
    expect(await line(third, 'hold')).toMatchObject({ hold: 'credit', code: 'QUOTA_EXCEEDED' });
    expect(await line(third, 'accepted')).not.toHaveProperty('rule');
    expect(on.emulator.record()).toMatchObject({ contacts: 2, twice: 0 });
  }, 60_000);

  it.each([
    ['stored in plain text', undefined],
    ['encrypted', 'e'.repeat(64)],
  ])(
    'with results: a notice goes on with the contacts that were not accepted, %s',
    async (_, key) => {
      const { on, keys, results, send, line, find, stored } = await start(EXAMPLE_RULES, key);
      results([a, 'OK'], [b, 'FAIL', 'TRY_LATER'], [c, 'OK']);
      const id = await send([a, b, c]);
      await on.addWorker();
      expect(await line(id, 'retry')).toMatchObject({
        code: 'TRY_LATER',
        results: { accepted: 2, retry: 1 },
      });
      expect(await line(id, 'accepted')).toMatchObject({ contacts: 1, attempt: 2 });
      // Only the second request acted, and it had the one contact.
      expect(on.emulator.details().map(({ contact }) => contact)).toEqual([b]);
      for (const contact of [a, b, c]) expect(await find(contact)).toEqual(['accepted']);
      const shown = JSON.parse(
        (await run(['show', id, '--json'], { ...on.env })).stdout,
      ) as NoticeView;
      expect(shown.contactStates).toHaveLength(3);
      expect((await stored(id)).includes(a)).toBe(key === undefined);
      const traffic = () => readTraffic(redis.client, keys);
      await until(async () => (await traffic()).total.notices.accepted === 3, { what: 'traffic' });
      results([d, 'OK'], [e, 'FAIL', 'BLOCKED']);
      const other = await send([d, e]);
      expect(await line(other, 'rejected')).toMatchObject({ code: 'BLOCKED' });
      expect([await find(d), await find(e)]).toEqual([['accepted'], ['rejected']]);
    },
    60_000,
  );

  it('with results: an at-most-once notice is unknown for the unknown contacts only', async () => {
    const { on, keys, results, send, line, find } = await start();
    results([a, 'OK']);
    const id = await send([a, b], { delivery: 'at-most-once' });
    await on.addWorker();
    expect(await line(id, 'unknown')).toMatchObject({ code: 'NOT_IN_RESULTS' });
    const listed = await until(
      async () => (await listUnknownNotices({ redis: redis.client, keys }))[0],
      {
        what: 'listed',
      },
    );
    expect(listed).toMatchObject({ id, contacts: 1 });
    expect([await find(a), await find(b)]).toEqual([['accepted'], ['unknown']]);
    // A person who sends it again sends it to that contact.
    await run(['resolve', id, '--as', 'resend', '--yes', '--json'], { ...on.env });
    await line(id, 'accepted');
    expect(on.emulator.details().map(({ contact }) => contact)).toEqual([b]);
  }, 60_000);

  it('with results: a rejected contact of a notice is not sent again beside one that is', async () => {
    const { on, results, send, line, find } = await start();
    const view = async (id: string) =>
      JSON.parse((await run(['show', id, '--json'], { ...on.env })).stdout) as NoticeView;
    const taken = () => on.emulator.details().map(({ contact }) => contact);
    results([a, 'OK'], [b, 'FAIL', 'BLOCKED'], [c, 'FAIL', 'TRY_LATER']);
    const id = await send([a, b, c]);
    await on.addWorker();
    expect(await line(id, 'retry')).toMatchObject({
      results: { accepted: 1, rejected: 1, retry: 1 },
    });
    // The last attempt is accepted; the notice is not.
    expect(await line(id, 'rejected')).toMatchObject({
      attempt: 2,
      code: 'BLOCKED',
      contacts: 1,
      results: { accepted: 1 },
    });
    expect(taken()).toEqual([c]);
    expect([await find(a), await find(b), await find(c)]).toEqual([
      ['accepted'],
      ['rejected'],
      ['accepted'],
    ]);
    const shown = await view(id);
    expect([shown.state, shown.contacts]).toEqual(['rejected', 3]);
    expect(shown.contactStates?.map(({ state }) => state)).toEqual([
      'accepted',
      'accepted',
      'rejected',
    ]);
    // A redrive sends the rejected one only.
    await run(['redrive', id, '--yes'], { ...on.env });
    await line(id, 'accepted');
    expect(taken()).toEqual([c, b]);
    expect((await view(id)).state).toBe('accepted');
  }, 60_000);

  it('with results: a contact is rejected, although another one was possibly sent before it was accepted', async () => {
    const { on, keys, results, send, line } = await start();
    const json = async (...args: string[]) =>
      JSON.parse((await run([...args, '--json'], { ...on.env })).stdout) as unknown;
    // The second is not in the results.
    results([a, 'FAIL', 'BLOCKED']);
    const id = await send([a, b]);
    await on.addWorker({ NOTICE_EVENTS: '1000' });
    await line(id, 'unknown');
    expect(await line(id, 'rejected')).toMatchObject({ attempt: 2, code: 'BLOCKED' });
    // The line comes before Redis has the end.
    const shown = async () => (await json('show', id)) as NoticeView;
    await until(async () => (await shown()).state !== 'sending', { what: 'the end' });
    expect(await shown()).toMatchObject({ state: 'rejected', possiblySent: 0 });
    expect(await json('cancel', id)).toMatchObject({ cancelled: false, answer: 'rejected' });
    const ends = await redis.client.xrange(keys.events, '-', '+');
    const states = new Set(ends.flatMap(([, fields]) => fields));
    expect([states.has('rejected'), states.has('unknown')]).toEqual([true, false]);
    const twice = () => redis.client.hget(keys.possiblySentTwice, 'notices');
    const before = await twice();
    expect(await json('redrive', id, '--yes')).toMatchObject({ done: 1, gone: 0 });
    await line(id, 'accepted');
    expect(on.emulator.details().map(({ contact }) => contact)).toEqual([b, a]);
    expect(await twice()).toBe(before);
  }, 60_000);

  it('with results: of an at-most-once notice the others are sent again, the unknown ones are listed', async () => {
    const { on, keys, results, send, line, find } = await start();
    const taken = () => on.emulator.details().map(({ contact }) => contact);
    // The fourth is not in the results.
    results([a, 'OK'], [b, 'FAIL', 'BLOCKED'], [c, 'FAIL', 'TRY_LATER']);
    const id = await send([a, b, c, d], { delivery: 'at-most-once' });
    await on.addWorker();
    await line(id, 'retry');
    expect(await line(id, 'unknown')).toMatchObject({ attempt: 2, code: 'NOT_IN_RESULTS' });
    expect(taken()).toEqual([c]);
    const list = () => listUnknownNotices({ redis: redis.client, keys });
    const listed = await until(async () => (await list())[0], { what: 'listed' });
    expect(listed).toMatchObject({ id, contacts: 1 });
    const states = await Promise.all([a, b, c, d].map((number) => find(number)));
    expect(states.flat()).toEqual(['accepted', 'rejected', 'accepted', 'unknown']);
    // A decision to send it again sends the unknown one; then the notice is rejected for the other.
    await run(['resolve', id, '--as', 'resend', '--yes', '--json'], { ...on.env });
    expect(await line(id, 'rejected')).toMatchObject({ code: 'BLOCKED' });
    expect(taken()).toEqual([c, d]);
    expect([await list(), await find(b), await find(d)]).toEqual([[], ['rejected'], ['accepted']]);
  }, 60_000);

  it('with results: an unknown contact is listed although the deadline of the others passes', async () => {
    const { on, keys, results, send, line, find } = await start();
    const expiresAt = Date.now() + 8_000;
    // The third is not in the results.
    results([a, 'OK'], [b, 'FAIL', 'TRY_LATER']);
    const id = await send([a, b, c], { delivery: 'at-most-once', expiresAt });
    await on.addWorker({ BACKOFF_BASE_MS: '600000', BACKOFF_CAP_MS: '600000' });
    await line(id, 'retry');
    const board = openBullQueue(QUEUE_NAME, redis.client, keys);
    onTestFinished(() => board.close());
    await until(() => Date.now() > expiresAt, { what: 'the deadline', ...LONG });
    await (await board.getJob(id))?.promote();
    expect(await line(id, 'unknown')).toMatchObject({ attempt: 2, code: 'NOT_IN_RESULTS' });
    const list = () => listUnknownNotices({ redis: redis.client, keys });
    const listed = await until(async () => (await list())[0], { what: 'listed' });
    expect(listed).toMatchObject({ id, contacts: 1, possiblySent: 1 });
    const states = await Promise.all([a, b, c].map((number) => find(number)));
    expect(states.flat()).toEqual(['accepted', 'rejected', 'unknown']);
  }, 60_000);

  it('with results: each contact of a chunk is settled, and the rest is sent again', async () => {
    const { on, results } = await start();
    results([a, 'OK'], [b, 'OK'], [c, 'FAIL', 'BLOCKED'], [d, 'FAIL', 'TRY_LATER'], [f, 'FAIL']);
    const { batch } = await on.queue.import(
      [a, b, c, d, e, f].map((contact) => ({ contact })),
      { templateCode: 'T', chunkSize: 6 },
    );
    await on.addWorker();
    const view = await until(
      async () => {
        const { stdout } = await run(['batch', batch, '--json'], { ...on.env });
        const shown = JSON.parse(stdout) as { batch: Batch; failures: { code: string }[] };
        return shown.batch.phase === 'finished' ? shown : undefined;
      },
      { what: 'the end', ...LONG },
    );
    // The fifth is not in the results: unknown, so it may be sent twice. The fourth surely was not accepted.
    expect(view.batch.counts).toMatchObject({
      total: 6,
      accepted: 4,
      rejected: 2,
      unknown: 0,
      possiblySentTwice: 1,
    });
    expect(view.failures.map(({ code }) => code).toSorted()).toEqual(['BLOCKED', 'RESULT_RULE_3']);
    expect(
      on.emulator
        .details()
        .map(({ contact }) => contact)
        .toSorted(),
    ).toEqual([d, e]);
  }, 60_000);

  it('with results: a contact of a bisected chunk that was accepted is not sent again', async () => {
    const { on, answer, results, countsAtEnd } = await start();
    answer({ error: { code: 'BAD_CONTACT' } }, 400);
    results([a, 'OK'], [b, 'FAIL', 'TRY_LATER']);
    const { batch } = await on.queue.import(
      [a, b, c, d].map((contact) => ({ contact })),
      { templateCode: 'T', chunkSize: 4 },
    );
    await on.addWorker();
    const counts = await countsAtEnd(batch);
    expect(counts).toMatchObject({ accepted: 4, rejected: 0, possiblySentTwice: 0 });
    // The first was accepted in the answer to the half, which the emulator does not record.
    const taken = [...on.emulator.contacts()].map(({ contact, count }) => [contact, count]);
    expect(Object.fromEntries(taken)).toEqual({ [b]: 1, [c]: 1, [d]: 1 });
  }, 60_000);

  it('with results: a chunk of 1,000 whose answer is longer than 64 kB is settled by it', async () => {
    const { on, results, countsAtEnd } = await start();
    const many = numbers(1_000);
    const [last = ''] = many.slice(-1);
    const filler = 'x'.repeat(60);
    results(...many.slice(0, -1).map((contact) => [contact, 'OK', filler] as const), [
      last,
      'FAIL',
      'BLOCKED',
    ]);
    const { batch } = await on.queue.import(
      many.map((contact) => ({ contact })),
      { templateCode: 'T', chunkSize: 1_000 },
    );
    await on.addWorker();
    const counts = await countsAtEnd(batch);
    expect(counts).toMatchObject({ accepted: 999, rejected: 1, possiblySentTwice: 0 });
    expect(on.emulator.record()).toMatchObject({ requests: 0 });
  }, 60_000);

  it('with results: a contact of a chunk that stays unknown is sent again as often as UNKNOWN_RESENDS', async () => {
    const { on, countsAtEnd } = await start();
    const acceptsOne = { data: { results: [{ contact: a, status: 'OK' }] } };
    on.emulator.addFault({ on: 'send', status: 200, body: acceptsOne, afterActing: true });
    const { batch } = await on.queue.import([{ contact: a }, { contact: b }], {
      templateCode: 'T',
    });
    await on.addWorker({ UNKNOWN_RESENDS: '2' });
    const counts = await countsAtEnd(batch);
    expect(counts).toMatchObject({ accepted: 1, unknown: 1 });
    const taken = [...on.emulator.contacts()].map(({ contact, count }) => [contact, count]);
    expect(Object.fromEntries(taken)).toEqual({ [a]: 1, [b]: 3 });
  }, 60_000);

  it('a worker with an invalid file does not start, and says where the problem is', async () => {
    const { on } = await start({ rules: [{ code: 'A', outcome: 'okay' }] });
    const { code, stderr } = await run(['worker'], { ...on.env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/ANSWER_RULES_FILE.*rules\.0\.outcome: expected one of accepted/);
  });
});
