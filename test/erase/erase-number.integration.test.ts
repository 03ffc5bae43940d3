import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { allBack, allFailed } from '../../src/batch/ledger/settlement.ts';
import { NoticeQueue } from '../../src/index.ts';
import { eraseNumber } from '../../src/erase/erase-number.ts';
import type { EraseReport } from '../../src/erase/erase-words.ts';
import { encodeFingerprints } from '../../src/number-index/chunk-fingerprints.ts';
import { findKey, hashNumber } from '../../src/number-index/number-key.ts';
import { readAudit } from '../../src/ops/audit.ts';
import { NO_SEALING } from '../../src/payload/seal.ts';
import { buildBatch } from '../batch/support/built-batch.ts';
import { run } from '../cli/support/run.ts';
import { parkNotice } from '../ops/support/parked-notice.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';
import { startWorkerInProcess } from '../workers/support/worker-in-process.ts';
import {
  FIND_KEY,
  MASKED,
  NOTHING,
  NUMBER,
  openErase,
  OTHER,
  PAYLOAD_KEY,
  to,
} from './support/open-erase.ts';

// Workers are started and stopped.
vi.setConfig({ testTimeout: 60_000 });

const redis = testRedis();
const open = (prefix = redis.freshPrefix(), payloadKey?: string) =>
  openErase(redis, prefix, payloadKey);

describe('notices erase', () => {
  it.each([
    ['without PAYLOAD_KEY', undefined],
    ['with PAYLOAD_KEY', PAYLOAD_KEY],
  ])('leaves nothing of a number in Redis but its mask in the audit: %s', async (_, payloadKey) => {
    const opened = open(redis.freshPrefix(), payloadKey);
    const { prefix, env, queue, keys, erase, stateOf, reaches, ledger, traces, secrets } = opened;
    const emulated = { unknownTemplates: ['GONE'] };
    const worker = await startWorkerInProcess(redis.url, prefix, secrets, emulated);
    const accepted = await queue.send(to(NUMBER), { idempotencyKey: 'accepted' });
    const rejected = await queue.send({ ...to(NUMBER), templateCode: 'GONE' });
    const both = [{ contact: NUMBER }, { contact: OTHER }];
    await queue.import(both, { templateCode: 'T', batchId: 'sent' });
    await queue.import(both, { templateCode: 'GONE', batchId: 'refused' });
    await reaches(accepted.id, 'accepted');
    await reaches(rejected.id, 'rejected');
    for (const id of ['sent', 'refused']) {
      const isDone = async () => (await ledger.read(id))?.phase === 'finished';
      await until(isDone, { what: `the batch ${id}`, deadlineMs: 20_000 });
    }
    await worker.stop();
    const waiting = await queue.send(to(NUMBER), { idempotencyKey: 'waiting' });
    const later = await queue.send(to(NUMBER), { delay: 3_600_000 });
    const first = await queue.send(to(NUMBER), { priority: 2 });
    const shared = await queue.send(to(NUMBER, OTHER));
    await queue.import(both, { templateCode: 'T', batchId: 'waits', again: true });
    const prints = [accepted, waiting].map(({ id }) => id.split('.')[1] ?? '');
    const before = new Set((await traces(prints)).map(([form]) => form));
    const always = ['fingerprint of a chunk', 'entry of a notice', 'fingerprint of a notice'];
    expect([...before]).toEqual(expect.arrayContaining(payloadKey ? always : ['plain', ...always]));

    const why = `asked by ${NUMBER}`;
    const ended = await run(['erase', '-', '--yes', '--json', '--why', why], env, '010-7777-8888');
    expect([ended.code, ended.stderr]).toEqual([0, '']);
    const report = JSON.parse(ended.stdout) as EraseReport;
    expect(report).toMatchObject({
      number: MASKED,
      notices: { cancelled: 3, removed: 2, shortened: 1 },
      index: { notices: 6, chunks: 3 },
      left: [],
    });
    expect(report.batches.toSorted((a, b) => a.batch.localeCompare(b.batch))).toEqual([
      { batch: 'refused', waiting: 0, ended: 1 },
      { batch: 'waits', waiting: 1, ended: 0 },
    ]);

    const left = await traces(prints);
    // BullMQ's own stream names ids of jobs; docs/privacy.md says so.
    const elsewhere = left.filter(([, key]) => key !== 'send:events');
    expect(elsewhere.map((trace) => trace.join(' in ')).toSorted()).toEqual([
      'masked in audit',
      'masked in audit:reads',
    ]);
    expect(await readAudit(redis.client, keys, 9)).toMatchObject([
      { what: 'erase', target: `number ${MASKED}`, as: 'erased', why: 'asked by [number]' },
      { what: 'search', target: `number ${MASKED}`, why: 'asked by [number]' },
      { what: 'search', target: `number ${MASKED}`, why: 'asked by [number]' },
    ]);
    for (const { id } of [accepted, rejected, waiting, later, first]) {
      expect(await stateOf(id)).toBe('not-kept');
    }
    expect(await stateOf(shared.id)).toBe('pending');
    expect((await ledger.read('refused'))?.counts).toMatchObject({ rejected: 1, cancelled: 1 });
    expect((await ledger.read('waits'))?.counts).toMatchObject({ pending: 1, cancelled: 1 });
    expect((await erase()).report).toEqual(NOTHING);
    const others = await run(['find', OTHER, '--json'], env);
    expect(JSON.parse(others.stdout)).toMatchObject({
      notices: [{ job: shared.id, states: ['pending'], confirmed: true }],
      contacts: [
        { batch: 'waits', states: ['pending'], confirmed: true },
        { batch: 'refused', states: ['rejected'], confirmed: true },
        { batch: 'sent', states: ['accepted'] },
      ],
    });
  });

  it('of what waits for several people, the others get theirs', async () => {
    const { prefix, queue, erase, reaches, ledger } = open();
    const shared = await queue.send(to(NUMBER, OTHER));
    const list = [NUMBER, OTHER, '01011113333'].map((contact) => ({ contact }));
    await queue.import(list, { templateCode: 'T', batchId: 'b', chunkSize: 2 });
    expect(await erase()).toMatchObject({ code: 0, report: { notices: { shortened: 1 } } });
    const worker = await startWorkerInProcess(redis.url, prefix);
    await reaches(shared.id, 'accepted');
    const isDone = async () => (await ledger.read('b'))?.phase === 'finished';
    await until(isDone, { what: 'the batch', deadlineMs: 20_000 });
    const { counts } = (await ledger.read('b')) ?? {};
    expect(counts).toMatchObject({ total: 3, accepted: 2, cancelled: 1, pending: 0 });
    const taken = [...worker.emulator.contacts()].map(({ contact }) => contact);
    expect(taken.toSorted()).toEqual([OTHER, '01011113333']);
    expect(await ledger.unsent()).toBe(0);
    await worker.stop();
  });

  it('what is being sent is left as it is, and named; the next run erases it', async () => {
    const { prefix, env, queue, keys, erase, stateOf } = open();
    const { id } = await queue.send(to(NUMBER));
    const shared = await queue.send(to(NUMBER, OTHER));
    const worker = redis.account(prefix).taker();
    const jobs = [await worker.getNextJob('token'), await worker.getNextJob('token')];
    const built = await buildBatch(redis.client, prefix, 'b', [
      [{ contact: NUMBER }, { contact: OTHER }],
      [{ contact: NUMBER }],
    ]);
    await built.claim(0);
    const first = await erase();
    expect(first).toMatchObject({
      code: 1,
      report: {
        batches: [{ batch: 'b', waiting: 1, ended: 0 }],
        left: expect.arrayContaining([
          { notice: id, reason: 'sending' },
          { notice: shared.id, reason: 'sending' },
          { batch: 'b', chunk: 0, reason: 'sending' },
        ]) as unknown,
      },
    });
    expect(first.report.left).toHaveLength(3);
    const shown = await run(['erase', NUMBER, '--yes'], env);
    expect(shown.stdout).toContain(`Left: notice ${id} is being sent: run the command again`);
    expect(shown.stdout).toContain('Left: chunk 0 of batch b is being sent');
    expect(await stateOf(id)).toBe('sending');
    const kept = await redis.client.hget(keys.noticeJob(shared.id), 'data');
    expect(kept).toContain(NUMBER);
    for (const job of jobs) {
      expect(JSON.stringify(job?.data)).toContain(NUMBER);
      await job?.moveToCompleted({ outcome: 'accepted' }, 'token', false);
    }
    await built.settle(0, allFailed('unknown', 'ECONNRESET', ''));
    expect(await erase()).toMatchObject({
      code: 0,
      report: {
        notices: { removed: 1, shortened: 1 },
        batches: [{ batch: 'b', waiting: 0, ended: 1 }],
      },
    });
    expect((await built.read()).counts).toMatchObject({ unknown: 1, cancelled: 2, pending: 0 });
  });

  it('an unknown outcome is discarded and removed, with its idempotency key', async () => {
    const facts = { number: NUMBER };
    const parked = await parkNotice(redis, { idempotencyKey: 'k' }, undefined, FIND_KEY, facts);
    const { erase, queue, traces } = open(parked.prefix);
    expect(await erase()).toMatchObject({ code: 0, report: { notices: { removed: 1 } } });
    expect(await redis.client.hlen(parked.keys.ended)).toBe(0);
    expect((await queue.get({ idempotencyKey: 'k' })).state).toBe('not-kept');
    const places = new Set((await traces()).map(([, key]) => key));
    expect([...places].toSorted()).toEqual(['audit', 'audit:reads']);
  });

  it('what is left keeps its entries in the index, the others lose theirs', async () => {
    const { env, queue, keys, erase, prefix } = open();
    const kept = await queue.send(to(NUMBER));
    await redis.client.hset(keys.noticeJob(kept.id), 'stc', 1);
    await queue.send(to(NUMBER));
    const built = await buildBatch(redis.client, prefix, 'b', [[{ contact: NUMBER }]]);
    const prints = encodeFingerprints([hashNumber(findKey(FIND_KEY), NUMBER)], '2');
    await redis.client.hset(keys.batchFind('b'), '0', prints);
    await built.claim(0);
    const { code, report } = await erase();
    expect([code, report.index]).toEqual([1, { notices: 1, chunks: 0 }]);
    expect(report.left).toEqual([
      { notice: kept.id, reason: 'possibly-sent' },
      { batch: 'b', chunk: 0, reason: 'sending' },
    ]);
    const { stdout } = await run(['find', NUMBER, '--json'], env);
    expect(JSON.parse(stdout)).toMatchObject({
      notices: [{ job: kept.id, confirmed: true }],
      contacts: [{ batch: 'b' }],
    });
  });

  it('what cannot be decrypted is counted, with exit code 1', async () => {
    const { queue, erase, env } = open(redis.freshPrefix(), PAYLOAD_KEY);
    await queue.send(to(NUMBER));
    await queue.import([{ contact: NUMBER }], { templateCode: 'T', batchId: 'b' });
    expect(await erase(NUMBER, { PAYLOAD_KEY: '7'.repeat(64) })).toMatchObject({
      code: 1,
      report: {
        unreadable: { notices: 1, chunks: 1 },
        notices: NOTHING.notices,
        batches: [],
        index: { chunks: 0 },
      },
    });
    const { stdout } = await run(['find', NUMBER, '--json'], env);
    expect(JSON.parse(stdout)).toMatchObject({ contacts: [{ batch: 'b' }] });
  });

  it('a batch that is being imported is named; without FIND_KEY the index is left', async () => {
    const { prefix, env, erase } = open();
    await buildBatch(redis.client, prefix, 'b', [[{ contact: NUMBER }]], { importing: true });
    expect(await erase(NUMBER, { FIND_KEY: '' })).toMatchObject({
      code: 0,
      report: { importing: ['b'], index: null, batches: [{ batch: 'b', waiting: 1 }] },
    });
    const { stdout } = await run(['erase', NUMBER, '--yes'], env);
    expect(stdout).toMatch(/^Nothing was erased\.$/m);
    expect(stdout).toMatch(/^Batch b is being imported: .*"notices cancel b"\.$/m);
  });

  it('takes every number that send() takes, with its country code or without', async () => {
    const { prefix, env } = open();
    const queue = new NoticeQueue({ redis: connectionAs('application', redis.url), prefix });
    onTestFinished(() => queue.close());
    const given = ['1012345678', '821012345678', '01012345678', '7'];
    for (const contact of given) {
      await queue.send({ templateCode: 'T', contacts: [{ contact }] });
    }
    const erased = async (typed: string) => {
      const { code, stdout } = await run(['erase', typed, '--yes', '--json'], env);
      expect(code).toBe(0);
      return (JSON.parse(stdout) as EraseReport).notices.cancelled;
    };
    expect(await erased('1012345678')).toBe(1);
    expect(await erased('7')).toBe(1);
    expect(await erased('+82 10-1234-5678')).toBe(2);
    expect(await erased('01012345678')).toBe(0);
    await queue.send({ templateCode: 'T', contacts: [{ contact: '821055550079' }] });
    expect(await erased('010-5555-0079')).toBe(1);
    await queue.send({ templateCode: 'T', contacts: [{ contact: '821055550079' }] });
    expect(await erased('0082-10-5555-0079')).toBe(1);
  });
});

describe('contacts of a batch that are taken out', () => {
  it('that move meanwhile are named, and erased where they are then', async () => {
    const { prefix, keys, erase } = open();
    const built = await buildBatch(redis.client, prefix, 'b', [
      [{ contact: NUMBER }, { contact: OTHER }],
    ]);
    await built.settle(0, allFailed('rejected', 'CODE', ''));
    const ledger = new (class extends Ledger {
      override async failure(batch: string, name: string) {
        const found = await super.failure(batch, name);
        await this.redrive('b', '0', 'rejected');
        return found;
      }
    })(redis.client, keys);
    const findSettings = { keepFailedMs: 3_600_000 };
    const context = { redis: redis.client, keys, ledger, sealing: NO_SEALING, findSettings };
    const erasure = { forms: [NUMBER], actor: { who: 'kim', why: '' } };
    const report = await eraseNumber(context, erasure);
    const left = [{ batch: 'b', chunk: 0, reason: 'changed' }];
    const batches = [{ batch: 'b', waiting: 1, ended: 0 }];
    expect(report).toEqual({ ...NOTHING, index: null, left, batches });
    expect((await erase()).report).toEqual(NOTHING);
    expect((await built.read()).counts).toMatchObject({ pending: 1, rejected: 0, cancelled: 1 });
  });

  it('that were possibly sent are left and named until the batch is cancelled, where they count as discarded', async () => {
    const { prefix, env, erase } = open();
    const list = [{ contact: NUMBER }, { contact: OTHER }];
    const built = await buildBatch(redis.client, prefix, 'b', [list, [{ contact: NUMBER }]]);
    await built.settle(0, allBack(true));
    await built.settle(1, allBack(true));
    const { counts } = await built.read();
    expect(counts).toMatchObject({ total: 3, pending: 3, cancelled: 0 });
    const { code, report } = await erase();
    expect(code).toBe(1);
    expect(report.batches).toEqual([]);
    expect(report.left.toSorted((a, b) => (a.chunk ?? 0) - (b.chunk ?? 0))).toEqual([
      { batch: 'b', chunk: 0, reason: 'possibly-sent' },
      { batch: 'b', chunk: 1, reason: 'possibly-sent' },
    ]);
    expect((await built.read()).counts).toEqual(counts);
    expect(await built.ledger.unsent()).toBe(3);
    const { stdout } = await run(['erase', NUMBER, '--yes'], env);
    expect(stdout).toContain('Left: chunk 0 of batch b was possibly sent and will be tried again');

    await built.ledger.control('b', 'cancel');
    expect(await erase()).toMatchObject({
      code: 0,
      report: { batches: [{ batch: 'b', waiting: 2, ended: 0 }], left: [] },
    });
    expect((await built.read()).counts).toMatchObject({ total: 3, unknown: 1, cancelled: 2 });
  });
});
