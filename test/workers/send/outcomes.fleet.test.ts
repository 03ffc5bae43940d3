import type { Queue } from 'bullmq';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { JOB_NAME } from '../../../src/contracts/job.ts';
import type { Fault } from '../../../src/emulator/faults/fault.ts';
import { liftManualHold } from '../../../src/fleet/hold/hold-scripts.ts';
import type { NoticeView } from '../../../src/notices/notice-state.ts';
import { keysOf, QUEUE_NAME, type Keys } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { listUnknownNotices } from '../../../src/ops/unknown.ts';
import { numbers, startFleet, type Fleet, type LogLine } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

/** Outcomes of last attempts. */
const ENDS: ReadonlySet<string> = new Set([
  'accepted',
  'rejected',
  'unknown',
  'expired',
  'retry',
  'hold',
]);

/** What becomes of a job after each outcome, with a real worker process. */
describe('a job whose attempt was', () => {
  const redis = testRedis();
  let fleet: Fleet;
  let board: Queue;
  let keys: Keys;
  let next = 0;

  beforeAll(async () => {
    const prefix = redis.freshPrefix();
    keys = keysOf(prefix, 'default');
    fleet = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 1,
      env: {
        ATTEMPTS: '3',
        BACKOFF_BASE_MS: '50',
        BACKOFF_CAP_MS: '100',
        ANSWER_TIMEOUT_MS: '500',
        TOKEN_GRACE_MS: '500',
        HOLD_PROBE_MIN_MS: '100',
      },
    });
    board = openBullQueue(QUEUE_NAME, redis.connect({ name: 'board' }), keys);
  });

  afterAll(async () => {
    await board.close();
    await fleet.close();
  });

  beforeEach(async () => {
    fleet.emulator.clearFaults();
    await liftManualHold(redis.client, keys);
  });

  /** Hands over one notice under a fault and waits until its job is done or failed. */
  async function run(faults: readonly Omit<Fault, 'on'>[], options = {}): Promise<Ended> {
    for (const fault of faults) fleet.emulator.addFault({ on: 'send', ...fault });
    const [contact = ''] = numbers(1, (next += 1));
    const receipt = await fleet.queue.send(
      { templateCode: 'OUTCOME', contacts: [{ contact }] },
      options,
    );
    return ended(receipt.id, contact);
  }

  async function ended(id: string, contact: string): Promise<Ended> {
    const view = await until(
      async () => {
        const found = await fleet.queue.get(id);
        return found.endedAt === undefined ? undefined : found;
      },
      { what: 'the end of the notice', deadlineMs: 20_000 },
    );
    // The log comes through a pipe, after the end.
    const lines = await until(
      () => {
        const found = fleet.attempts().filter((line) => line['job'] === id);
        const isLast = ENDS.has(String(found.at(-1)?.['outcome']));
        return isLast && found.length >= view.attempts ? found : undefined;
      },
      { what: 'the last line of the job' },
    );
    const times = [...fleet.emulator.contacts()].find((entry) => entry.contact === contact);
    return { ...view, lines, accepted: times?.count ?? 0 };
  }

  interface Ended extends NoticeView {
    readonly lines: readonly LogLine[];
    readonly accepted: number;
  }

  const outcomes = ({ lines }: Ended) => lines.map(({ outcome }) => outcome);

  it('accepted is done, with one line and every fact', async () => {
    const job = await run([]);
    expect(job).toMatchObject({ state: 'accepted', accepted: 1, attempts: 1, confirmed: true });
    expect(job.lines).toHaveLength(1);
    expect(job.lines[0]).toMatchObject({
      outcome: 'accepted',
      attempt: 1,
      contacts: 1,
      status: 200,
      requests: 1,
      token: expect.stringMatching(/^[0-9a-f]{16}$/) as unknown,
      requestId: expect.any(String) as unknown,
      waitedMs: expect.any(Number) as unknown,
      sendMs: expect.any(Number) as unknown,
    });
  });

  it('rejected fails for good at once and is kept with code and status, without a stack', async () => {
    const job = await run([{ status: 404, code: 'TEMPLATE_NOT_FOUND' }]);
    expect(job).toMatchObject({ state: 'rejected', attempts: 1, accepted: 0 });
    expect([job.code, job.message]).toEqual([
      'TEMPLATE_NOT_FOUND',
      expect.stringMatching(/^HTTP 404/),
    ]);
    expect(await board.getJob(job.id)).toBeUndefined();
    expect(outcomes(job)).toEqual(['rejected']);
  });

  it('retry backs off and is sent when the service takes it', async () => {
    const job = await run([{ status: 408, times: 2 }]);
    expect(job).toMatchObject({ state: 'accepted', attempts: 3, accepted: 1 });
    expect(outcomes(job)).toEqual(['retry', 'retry', 'accepted']);
  });

  it.each<[string, Omit<Fault, 'on'>, number]>([
    ['a 503', { status: 503, times: 1 }, 1],
    ['a reset before it acted', { reset: 'after-read', times: 1 }, 1],
    ['a reset after it acted', { reset: 'after-acting', times: 1 }, 2],
    ['no answer after it acted', { hang: 'after-acting', times: 1 }, 2],
  ])('unknown by %s is tried again, and says so', async (_name, fault, accepted) => {
    const job = await run([fault]);
    expect(job).toMatchObject({ state: 'accepted', attempts: 2, accepted });
    expect(outcomes(job)).toEqual(['unknown', 'accepted']);
  });

  it.each<[string, readonly Omit<Fault, 'on'>[], object, readonly string[], number]>([
    [
      'then refused',
      [
        { reset: 'after-acting', times: 1 },
        { status: 404, code: 'TEMPLATE_NOT_FOUND' },
      ],
      {},
      ['unknown', 'unknown'],
      1,
    ],
    [
      'then not taken, then refused',
      [
        { reset: 'after-read', times: 1 },
        { status: 408, times: 1 },
        { status: 404, code: 'GONE' },
      ],
      {},
      ['unknown', 'retry', 'unknown'],
      0,
    ],
    [
      'then not taken until the attempts are used up',
      [{ reset: 'after-acting', times: 1 }, { status: 408 }],
      {},
      ['unknown', 'retry', 'unknown'],
      1,
    ],
    [
      'then too late',
      [{ hang: 'after-acting', times: 1 }],
      { expiresAt: 450 },
      ['unknown', 'unknown'],
      1,
    ],
  ])(
    'unknown, %s: stays unknown, is not tried again, and is listed',
    async (_, faults, { expiresAt }: { expiresAt?: number }, expected, accepted) => {
      const options = expiresAt === undefined ? {} : { expiresAt: Date.now() + expiresAt };
      const job = await run(faults, options);
      expect(outcomes(job)).toEqual(expected);
      expect(job).toMatchObject({ state: 'unknown', accepted });
      const listed = await listUnknownNotices({ redis: redis.client, keys });
      expect(listed.filter(({ id }) => id === job.id)).toHaveLength(1);
    },
  );

  it('refused twice with a young token comes back without an attempt spent', async () => {
    fleet.emulator.revokeTokens();
    await run([]);
    const job = await run([{ status: 401, code: 'INVALID_ACCESS_KEY', times: 2 }]);
    expect(job).toMatchObject({ state: 'accepted', attempts: 1, accepted: 1 });
    expect(job.lines[0]).toMatchObject({ outcome: 'hold', hold: 'credentials' });
    expect(job.lines.every(({ attempt }) => attempt === 1)).toBe(true);
  });

  it.each<[string, unknown]>([
    [
      'of an unknown version',
      { v: 0, notice: { templateCode: 'T', contacts: [{ contact: '010' }] } },
    ],
    ['without contacts', { v: 1, notice: { templateCode: 'T', contacts: [] } }],
    ['that is no object', 'text'],
    ['that is null', null],
  ])('not made: a job %s is never sent, and kept', async (_name, data) => {
    const before = fleet.emulator.record().requests;
    const { id = '' } = await board.add(JOB_NAME, data, { jobId: `x-${(next += 1)}` });
    const job = await ended(id, '');
    expect(job).toMatchObject({ state: 'rejected', attempts: 1, code: 'JOB_INVALID' });
    expect(fleet.emulator.record().requests).toBe(before);
  });
});
