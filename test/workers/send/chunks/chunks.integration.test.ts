import { describe, expect, it, onTestFinished } from 'vitest';
import type { BatchPlan } from '../../../../src/batch/ledger/batch-record.ts';
import { decodeContacts } from '../../../../src/payload/chunk-payload.ts';
import type { EmulatorOptions } from '../../../../src/emulator/options.ts';
import type { Contact } from '../../../../src/contracts/notice.ts';
import { CHUNK_QUEUE_NAME } from '../../../../src/redis/keys.ts';
import { openBullQueue } from '../../../../src/redis/open-queue.ts';
import { buildBatch, contacts } from '../../../batch/support/built-batch.ts';
import { testRedis } from '../../../support/redis.ts';
import { until } from '../../../support/wait.ts';
import { startWorkerInProcess } from '../../support/worker-in-process.ts';

const redis = testRedis();
const LONG = { deadlineMs: 60_000 };
const ENV = { UNKNOWN_RESENDS: '1', BACKOFF_CAP_MS: '1000', HOLD_PROBE_MIN_MS: '200' };
const SPOILER = { contact: '01099999999' };

/** Stores a batch, and starts a worker and a service of its own. */
async function send(
  chunks: readonly (readonly Contact[])[],
  emulated: EmulatorOptions = {},
  more: Partial<BatchPlan> = {},
  env: Readonly<Record<string, string>> = {},
) {
  const { prefix, keys } = redis.account();
  const plan = { frame: '{"templateCode":"T","scheduleType":"DIRECTLY"}', ...more };
  const batch = await buildBatch(redis.client, prefix, 'b', chunks, { plan });
  const { ledger } = batch;
  const read = () => batch.read();
  const worker = await startWorkerInProcess(redis.url, prefix, { ...ENV, ...env }, emulated);
  const queue = openBullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
  onTestFinished(async () => {
    await worker.stop();
    await queue.close();
  });
  const finished = async () => {
    const isOver = async () => (await read()).phase === 'finished';
    await until(isOver, { what: 'the end of the batch', ...LONG });
    return (await read()).counts;
  };
  const failures = async () => {
    const found = [];
    for await (const failure of ledger.failures('b')) {
      const payload = await ledger.payload('b', failure.name);
      const list = payload === undefined ? [] : await decodeContacts(payload);
      found.push({ ...failure, contacts: list.map(({ contact }) => contact) });
    }
    return found;
  };
  const left = async () => (await queue.getJobs(['waiting', 'active', 'delayed'])).length;
  const untilNoJobs = () =>
    until(async () => (await left()) === 0, { what: 'the end of its jobs', ...LONG });
  const attempts = () => worker.lines.filter(({ outcome = 'returned' }) => outcome !== 'returned');
  const { emulator } = worker;
  return { emulator, ledger, read, queue, finished, failures, untilNoJobs, attempts };
}

const inFives = (count: number) => Array.from({ length: count }, (_, at) => contacts(5, at * 5));

describe('a batch whose chunks are', () => {
  it('accepted: each contact once with its variables, no payload and no job left', async () => {
    const { emulator, ledger, queue, finished } = await send([contacts(50), contacts(7, 50)]);
    const counts = { total: 57, accepted: 57, pending: 0, possiblySentTwice: 0 };
    expect(await finished()).toMatchObject(counts);
    expect(emulator.record()).toMatchObject({ requests: 2, distinct: 57, twice: 0 });
    expect(emulator.details()[0]).toMatchObject({ vars: { var1: 'value 0' } });
    expect(await ledger.payload('b', '0')).toBeUndefined();
    expect(await queue.getJobCounts()).toMatchObject({ completed: 0, failed: 0, waiting: 0 });
  });

  it('waiting for a permit: not claimed, so that a worker that dies leaves no doubt', async () => {
    const { emulator, read } = await send(inFives(60), {}, {}, { RATE_LIMIT: '10' });
    const sending: number[] = [];
    const areSent = async () => {
      sending.push((await read()).counts.sending);
      return emulator.record().requests >= 10;
    };
    await until(areSent, { what: 'ten requests', everyMs: 5, ...LONG });
    expect(Math.max(...sending)).toBeLessThanOrEqual(3 * 5);
  });

  it('spoiled by one contact: it is isolated with the code of the service, the others are sent', async () => {
    const list = contacts(32).with(13, SPOILER);
    const rejectContacts = [SPOILER.contact];
    const { emulator, finished, failures } = await send([list, contacts(32, 32)], {
      rejectContacts,
    });
    expect(await finished()).toMatchObject({ total: 64, accepted: 63, rejected: 1 });
    expect(await failures()).toMatchObject([
      { state: 'rejected', size: 1, code: 'INVALID_CONTACT', contacts: rejectContacts },
    ]);
    expect(emulator.record()).toMatchObject({ distinct: 63, twice: 0 });
  });

  it('refused whatever they hold: their template is held soon, and they wait', async () => {
    const refuse = { on: 'send', status: 400, code: 'BAD_TEMPLATE_VALUES' } as const;
    const { emulator, finished, attempts } = await send([contacts(512)], { faults: [refuse] });
    const isHeld = () => attempts().some(({ hold }) => hold === 'template');
    await until(isHeld, { what: 'the hold', ...LONG });
    expect(emulator.faults()[0]?.fired).toBeLessThanOrEqual(120);
    emulator.clearFaults();
    expect(await finished()).toMatchObject({ accepted: 512, rejected: 0 });
    expect(emulator.record().twice).toBe(0);
  });

  it('paused, resumed, cancelled: no send starts; what is being sent counts as it ends', async () => {
    const { emulator, ledger, read, untilNoJobs } = await send(inFives(400), { latencyMs: 50 });
    const requests = () => emulator.record().requests;
    const untilSent = (count: number) =>
      until(() => requests() >= count, { what: 'some sends', everyMs: 5 });
    await untilSent(10);
    expect(await ledger.control('b', 'pause')).toEqual({ done: true, phase: 'paused' });
    await until(async () => (await read()).counts.sending === 0, { what: 'the sends under way' });
    const { counts } = await read();
    const before = requests();
    await untilNoJobs();
    expect([requests(), (await read()).counts]).toEqual([before, counts]);

    await ledger.control('b', 'resume');
    await untilSent(before + 10);
    await ledger.control('b', 'cancel');
    await until(async () => (await read()).counts.pending === 0, { what: 'the sends under way' });
    const { accepted, cancelled, possiblySentTwice } = (await read()).counts;
    expect([accepted + cancelled, possiblySentTwice]).toEqual([2_000, 0]);
    await untilNoJobs();
    expect(emulator.record()).toMatchObject({ distinct: accepted, twice: 0 });
  });
});

it('a chunk whose batch is paused and resumed between attempts is sent again no more often', async () => {
  const lost = { on: 'send', status: 500, code: 'HTTP_500', afterActing: true } as const;
  const { emulator, ledger, attempts, finished, failures, untilNoJobs } = await send(
    [contacts(3)],
    { faults: [lost] },
  );
  await until(() => emulator.record().requests === 1, { what: 'the first attempt', ...LONG });
  await ledger.control('b', 'pause');
  await untilNoJobs();
  await ledger.control('b', 'resume');
  expect((await finished()).possiblySentTwice).toBe(3);
  expect(await failures()).toMatchObject([{ state: 'unknown', size: 3, code: 'HTTP_500' }]);
  // Sent, and sent again once, as UNKNOWN_RESENDS allows.
  expect(emulator.record()).toMatchObject({ requests: 2, contacts: 6 });
  await until(() => attempts().length >= 2, { what: 'the line of each attempt' });
  expect(attempts().map(({ possiblySent }) => possiblySent)).toEqual([1, 2]);
}, 120_000);

it('a chunk whose deadline passes while it waits for a token is not sent', async () => {
  const slow = { on: 'token', latencyMs: 5_000 } as const;
  const expiresAt = Date.now() + 3_000;
  const chunks = [contacts(3)];
  const { emulator, attempts, finished, failures } = await send(
    chunks,
    { faults: [slow] },
    { expiresAt },
  );
  await finished();
  expect(await failures()).toMatchObject([{ state: 'expired', size: 3 }]);
  expect(emulator.record().requests).toBe(0);
  await until(() => attempts().length > 0, { what: 'the line of the end' });
  expect(attempts()).toMatchObject([{ outcome: 'expired', batch: 'b', contacts: 3 }]);
}, 120_000);

it.each([
  [
    'whose attempts all ended unknown has the trace id of each',
    { status: 500, code: 'LOST', times: 1 },
    [0, 1],
  ],
  [
    'that was rejected after one has that of the unknown one',
    { status: 400, code: 'BAD_TEXT', times: 1 },
    [0],
  ],
] as const)(
  'a chunk %s',
  async (_, next, named) => {
    const lost = { on: 'send', status: 500, code: 'LOST', times: 1 } as const;
    const faults = [lost, { on: 'send', ...next } as const];
    const { finished, failures, attempts } = await send([contacts(1)], { faults });
    await finished();
    const answered = attempts().map(({ requestId }) => String(requestId));
    expect(new Set(answered).size).toBe(2);
    const [failure] = await failures();
    expect(failure).toMatchObject({ state: 'unknown', size: 1 });
    const ids = named.map((at) => answered[at]).join(' ');
    expect(failure?.message).toMatch(new RegExp(`\\(trace ids? ${ids}\\)$`));
  },
  90_000,
);
