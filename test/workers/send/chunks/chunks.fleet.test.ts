import type { Queue } from 'bullmq';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Batch, BatchPlan } from '../../../../src/batch/ledger/batch-record.ts';
import { Ledger } from '../../../../src/batch/ledger/ledger.ts';
import type { FailureRecord } from '../../../../src/batch/ledger/ledger-reader.ts';
import { decodeContacts, encodePayload } from '../../../../src/payload/chunk-payload.ts';
import { queueChunks } from '../../../../src/batch/import/queue-chunks.ts';
import type { Fault } from '../../../../src/emulator/faults/fault.ts';
import { readTemplateHolds } from '../../../../src/fleet/hold/template-hold.ts';
import { CHUNK_QUEUE_NAME, keysOf, type Keys } from '../../../../src/redis/keys.ts';
import { openBullQueue } from '../../../../src/redis/open-queue.ts';
import { numbers, startFleet, type Fleet } from '../../../support/fleet.ts';
import { testRedis } from '../../../support/redis.ts';
import { until } from '../../../support/wait.ts';

const SPOILER = '01099999999';

/** What becomes of a batch's chunks, with a real worker process. */
describe('a batch whose chunks are', () => {
  const redis = testRedis();
  let fleet: Fleet;
  let keys: Keys;
  let ledger: Ledger;
  let queue: Queue;
  let next = 0;

  beforeAll(async () => {
    const prefix = redis.freshPrefix();
    fleet = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 1,
      env: {
        ATTEMPTS: '3',
        BACKOFF_BASE_MS: '20',
        BACKOFF_CAP_MS: '50',
        ANSWER_TIMEOUT_MS: '500',
        HOLD_PROBE_MIN_MS: '200',
      },
      emulator: { rejectContacts: [SPOILER] },
    });
    keys = keysOf(prefix, 'default');
    ledger = new Ledger(redis.client, keys);
    queue = openBullQueue(CHUNK_QUEUE_NAME, redis.connect({ name: 'chunks' }), keys);
  });

  afterAll(async () => {
    await queue.close();
    await fleet.close();
  });

  beforeEach(() => {
    fleet.emulator.clearFaults();
    fleet.emulator.reset();
  });

  const templatesHeld = async () =>
    (await readTemplateHolds(redis.client, keys)).map(({ template }) => template);

  /** Stores a batch, chunk by chunk, as an import does. */
  async function begin(
    chunks: readonly (readonly string[])[],
    plan: Partial<BatchPlan> = {},
  ): Promise<string> {
    const id = `batch-${(next += 1)}`;
    const whole: BatchPlan = {
      frame: JSON.stringify({ templateCode: `T${next}`, scheduleType: 'DIRECTLY' }),
      templateCode: `T${next}`,
      chunkSize: chunks[0]?.length ?? 1,
      delivery: 'at-least-once',
      expiresAt: 0,
      rate: 0,
      bisect: true,
      ...plan,
    };
    await ledger.start(id, whole, 'fingerprint', 3_600_000);
    let rows = 0;
    for (const [chunk, contacts] of chunks.entries()) {
      const json = JSON.stringify(contacts.map((contact) => ({ contact, var1: '값' })));
      rows += contacts.length;
      await ledger.store(id, {
        chunk,
        size: contacts.length,
        rows,
        payload: await encodePayload(json),
      });
    }
    await ledger.endImport(id, 0, 0);
    await queueChunks(ledger, queue, id);
    return id;
  }

  async function read(id: string): Promise<Batch> {
    const batch = await ledger.read(id);
    if (batch === undefined) throw new Error(`no batch ${id}`);
    return batch;
  }

  const finished = (id: string) =>
    until(
      async () => {
        const batch = await read(id);
        return batch.phase === 'finished' ? batch : undefined;
      },
      { what: `the end of ${id}`, deadlineMs: 20_000 },
    );

  async function failuresOf(id: string): Promise<(FailureRecord & { contacts: string[] })[]> {
    const found: (FailureRecord & { contacts: string[] })[] = [];
    for await (const failure of ledger.failures(id)) {
      const payload = await ledger.payload(id, failure.name);
      const contacts = payload === undefined ? [] : await decodeContacts(payload);
      found.push({ ...failure, contacts: contacts.map(({ contact }) => contact) });
    }
    return found;
  }

  const fault = (one: Omit<Fault, 'on'>) => fleet.emulator.addFault({ on: 'send', ...one });

  it('accepted: finished, each contact once with its variables, no payload left', async () => {
    const id = await begin([numbers(50), numbers(50, 50), numbers(7, 100)]);
    const { counts } = await finished(id);
    expect(counts).toMatchObject({ total: 107, accepted: 107, pending: 0, possiblySentTwice: 0 });
    expect(fleet.emulator.record()).toMatchObject({ requests: 3, distinct: 107, twice: 0 });
    expect(fleet.emulator.details()[0]).toMatchObject({ vars: { var1: '값' } });
    expect(await ledger.payload(id, '0')).toBeUndefined();
    expect(await queue.getJobCounts()).toMatchObject({ completed: 0, failed: 0, waiting: 0 });
  });

  it('spoiled by one contact: it is isolated with the code of the service, the others are sent', async () => {
    const list = numbers(32, 1_000);
    list[13] = SPOILER;
    const id = await begin([list, numbers(32, 2_000)]);
    const { counts } = await finished(id);
    expect(counts).toMatchObject({ total: 64, accepted: 63, rejected: 1 });
    expect(await failuresOf(id)).toEqual([
      expect.objectContaining({
        state: 'rejected',
        size: 1,
        code: 'INVALID_CONTACT',
        contacts: [SPOILER],
      }),
    ]);
    expect(fleet.emulator.record()).toMatchObject({ distinct: 63, twice: 0 });
  });

  it('refused whatever they hold: their template is held soon, and they wait', async () => {
    fault({ status: 400, code: 'BAD_TEMPLATE_VALUES' });
    const id = await begin([numbers(512, 4_000)]);
    await until(async () => (await templatesHeld()).includes(`T${next}`), { what: 'the hold' });
    expect(fleet.emulator.faults()[0]?.fired).toBeLessThanOrEqual(120);
    fleet.emulator.clearFaults();
    expect((await finished(id)).counts).toMatchObject({ accepted: 512, rejected: 0 });
    expect(fleet.emulator.record().twice).toBe(0);
  });

  it('unknown, at-least-once: tried again, counted as possibly twice', async () => {
    fault({ reset: 'after-acting', times: 1 });
    const id = await begin([numbers(10, 6_000)]);
    expect((await finished(id)).counts).toMatchObject({
      accepted: 10,
      unknown: 0,
      possiblySentTwice: 10,
    });
    expect(fleet.emulator.record().twice).toBe(10);
  });

  it('unknown, at-most-once: set aside, listed, never sent again', async () => {
    fault({ reset: 'after-acting', times: 1 });
    const id = await begin([numbers(10, 7_000)], { delivery: 'at-most-once' });
    expect((await finished(id)).counts).toMatchObject({
      accepted: 0,
      unknown: 10,
      possiblySentTwice: 0,
    });
    expect(fleet.emulator.record()).toMatchObject({ distinct: 10, twice: 0 });
    expect((await failuresOf(id))[0]?.contacts).toEqual(numbers(10, 7_000));
  });

  it('halved, the first half unknown: the half that was not tried yet has not been sent', async () => {
    fault({ status: 400, times: 1 });
    fault({ status: 503, times: 1 });
    fault({ status: 404 });
    const id = await begin([numbers(10, 8_300)]);
    expect((await finished(id)).counts).toMatchObject({
      accepted: 0,
      rejected: 5,
      unknown: 5,
      possiblySentTwice: 0,
    });
    const failures = await failuresOf(id);
    expect(failures.find(({ state }) => state === 'unknown')?.contacts).toEqual(numbers(5, 8_300));
    expect(failures.find(({ state }) => state === 'rejected')?.contacts).toEqual(numbers(5, 8_305));
  });

  it('held: nothing is spent, all are sent when the hold is over', async () => {
    fault({ status: 402, times: 3 });
    const id = await begin(Array.from({ length: 20 }, (_, at) => numbers(5, 10_000 + at * 5)));
    expect((await finished(id)).counts).toMatchObject({
      accepted: 100,
      rejected: 0,
      possiblySentTwice: 0,
    });
    expect(fleet.attempts().every(({ attempt }) => Number(attempt) <= 3)).toBe(true);
  });

  it('paused: no send starts; resumed: all are sent once', async () => {
    fault({ latencyMs: 50 });
    const id = await begin(Array.from({ length: 200 }, (_, at) => numbers(5, 20_000 + at * 5)));
    await until(() => fleet.emulator.record().requests >= 10, { what: 'some sends', everyMs: 5 });
    expect(await ledger.control(id, 'pause')).toEqual({ done: true, phase: 'paused' });
    await until(async () => (await read(id)).counts.sending === 0, { what: 'the sends under way' });
    const { counts } = await read(id);
    const { requests } = fleet.emulator.record();
    await until(async () => (await queue.getWaitingCount()) === 0, { what: 'jobs to give up' });
    expect(fleet.emulator.record().requests).toBe(requests);
    expect((await read(id)).counts).toEqual(counts);
    expect(counts.pending).toBeGreaterThan(0);

    await ledger.control(id, 'resume');
    expect((await finished(id)).counts).toMatchObject({ accepted: 1_000, possiblySentTwice: 0 });
    expect(fleet.emulator.record()).toMatchObject({ distinct: 1_000, twice: 0 });
  });

  it('cancelled: what is being sent counts as it ends, the rest as cancelled', async () => {
    fault({ latencyMs: 50 });
    const id = await begin(Array.from({ length: 200 }, (_, at) => numbers(5, 30_000 + at * 5)));
    await until(() => fleet.emulator.record().requests >= 10, { what: 'some sends', everyMs: 5 });
    await ledger.control(id, 'cancel');
    const { counts } = await until(
      async () => {
        const batch = await read(id);
        return batch.counts.pending === 0 ? batch : undefined;
      },
      { what: 'the sends under way' },
    );
    expect(counts.accepted).toBe(fleet.emulator.record().distinct);
    expect(counts.accepted + counts.cancelled).toBe(1_000);
    await until(async () => (await queue.getWaitingCount()) === 0, { what: 'jobs to give up' });
    expect(fleet.emulator.record().distinct).toBe(counts.accepted);
  });

  it('too late: expired, never sent', async () => {
    const id = await begin([numbers(10, 40_000)], { expiresAt: Date.now() - 1_000 });
    expect((await finished(id)).counts).toMatchObject({ expired: 10 });
    expect(fleet.emulator.record().requests).toBe(0);
  });

  it('of a payload that cannot be opened: rejected, never sent', async () => {
    const id = `batch-${(next += 1)}`;
    await ledger.start(
      id,
      {
        frame: '{}',
        templateCode: 'T',
        chunkSize: 5,
        delivery: 'at-least-once',
        expiresAt: 0,
        rate: 0,
        bisect: true,
      },
      'f',
      3_600_000,
    );
    await ledger.store(id, { chunk: 0, size: 5, rows: 5, payload: Buffer.from([1, 1, 2, 3]) });
    await ledger.endImport(id, 0, 0);
    await queueChunks(ledger, queue, id);
    expect((await finished(id)).counts).toMatchObject({ rejected: 5 });
    for await (const failure of ledger.failures(id)) {
      expect(failure).toMatchObject({ code: 'PAYLOAD_UNREADABLE', size: 5 });
    }
  });
});
