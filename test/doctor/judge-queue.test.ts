import { describe, expect, it } from 'vitest';
import { batchFrom } from '../../src/batch/ledger/batch-record.ts';
import { HOLDS, type HoldKind } from '../../src/contracts/hold.ts';
import { judgeQueue, type QueueSnapshot } from '../../src/doctor/judge-queue.ts';

const NOW = 1_800_000_000_000;
const MIN = 60_000;

const worker = (fields = {}) => ({
  id: 'w',
  host: 'h',
  pid: 1,
  version: '1.0.0',
  active: 0,
  concurrency: 40,
  startedAt: NOW,
  pair: 'pair',
  loopDelayMs: 3,
  ageMs: 100,
  ...fields,
});

const batch = (fields: Record<string, string | number>) => {
  const texts = Object.entries({ phase: 'sending', movedAt: NOW, ...fields }).map(
    ([name, value]) => [name, String(value)] as const,
  );
  const made = batchFrom('autumn', Object.fromEntries(texts));
  if (made === undefined) throw new Error('no batch');
  return made;
};

const GOOD: QueueSnapshot = {
  now: NOW,
  hold: undefined,
  templateHolds: [],
  sendWindows: '',
  workers: [worker()],
  version: '1.0.0',
  waiting: 0,
  oldestWaitingMs: undefined,
  nearFailed: undefined,
  unknownNotices: 0,
  batches: [],
  backingOff: new Set(),
};

const held = (kind: HoldKind) => ({
  hold: { kind, code: 'C', since: NOW, nextProbeAt: NOW, failedProbes: 0 },
});
const LATE = { waiting: 3, oldestWaitingMs: 6 * MIN };
const STANDING = { pending: 5, movedAt: NOW - 3 * MIN };
const FAILED = { phase: 'finished', rejected: 4, finishedAt: NOW - 9 * MIN, retentionMs: 10 * MIN };

describe('the queue', () => {
  it('is fine where all is well', () => {
    const findings = judgeQueue(GOOD);
    expect(new Set(findings.map(({ level }) => level))).toEqual(new Set(['ok']));
    expect(findings.map(({ check }) => check)).toEqual([
      'queue.hold',
      'queue.workers',
      'queue.versions',
      'queue.settings',
      'queue.waiting',
      'queue.batches',
      'queue.unknown',
      'queue.retention',
    ]);
  });

  it.each(Object.keys(HOLDS) as HoldKind[])('held: %s, with its remedy', (kind) => {
    const [hold] = judgeQueue({ ...GOOD, ...held(kind) });
    expect(hold).toMatchObject({
      level: kind === 'manual' ? 'warn' : 'fail',
      remedy: HOLDS[kind].remedy,
    });
    expect(hold?.says).toContain(HOLDS[kind].reason);
  });

  it.each([
    ['queue.workers', { workers: [] }, 'warn', 'nothing waits'],
    ['queue.workers', { workers: [], waiting: 2 }, 'fail', '2 notices'],
    ['queue.workers', { workers: [], batches: [batch({ pending: 7 })] }, 'fail', '7 notices'],
    ['queue.workers', { workers: [worker({ loopDelayMs: 1_000 })] }, 'warn', '1 of 1'],
    ['queue.workers', { workers: [worker(), worker()] }, 'ok', '2 alive'],
    [
      'queue.versions',
      { workers: [worker(), worker({ version: '0.9.0' })] },
      'warn',
      '0.9.0, 1.0.0',
    ],
    [
      'queue.versions',
      { workers: [worker({ version: '0.9.0' })] },
      'warn',
      'this program has 1.0.0',
    ],
    ['queue.versions', { workers: [] }, 'ok', '1.0.0'],
    ['queue.waiting', LATE, 'warn', 'the oldest for 6 min'],
    ['queue.waiting', { ...LATE, workers: [] }, 'ok', '3 single notices waiting'],
    ['queue.waiting', { ...LATE, ...held('credit') }, 'ok', '3 single notices waiting'],
    ['queue.waiting', { waiting: 3, oldestWaitingMs: 4 * MIN }, 'ok', '3 single notices waiting'],
    ['queue.batches', { batches: [batch(STANDING)] }, 'warn', 'autumn'],
    ['queue.batches', { batches: [batch({ ...STANDING, phase: 'paused' })] }, 'ok', '1 open'],
    ['queue.batches', { batches: [batch(STANDING)], ...held('credit') }, 'ok', '1 open'],
    ['queue.batches', { batches: [batch({ pending: 5 })] }, 'ok', '1 open'],
    [
      'queue.batches',
      { batches: [batch(STANDING)], backingOff: new Set(['autumn']) },
      'ok',
      '1 open',
    ],
    ['queue.unknown', { unknownNotices: 1 }, 'warn', 'of 1 notice and 0 contacts'],
    ['queue.unknown', { batches: [batch({ unknown: 6 })] }, 'warn', '6 contacts'],
    ['queue.retention', { batches: [batch(FAILED)] }, 'warn', 'autumn'],
    [
      'queue.retention',
      { nearFailed: { count: 12, keptUntil: NOW + MIN } },
      'warn',
      '12 failed notices will be deleted soon',
    ],
    [
      'queue.retention',
      { nearFailed: { count: 1, keptUntil: NOW }, batches: [batch(FAILED)] },
      'warn',
      '1 failed notice and failed contacts of 1 batch, such as of autumn, will',
    ],
    ['queue.retention', { batches: [batch({ ...FAILED, finishedAt: NOW })] }, 'ok', 'nothing'],
  ] as const)('%s %#: %s', (check, snapshot, level, words) => {
    const finding = judgeQueue({ ...GOOD, ...snapshot }).find((one) => one.check === check);
    expect(finding).toMatchObject({ level, says: expect.stringContaining(words) as string });
    expect(finding?.remedy === undefined).toBe(level === 'ok');
  });
});
