import { describe, expect, it } from 'vitest';
import { HOLDS, type HoldKind } from '../../src/contracts/hold.ts';
import { VERSION } from '../../src/contracts/version.ts';
import { judgeQueue } from '../../src/doctor/judge-queue.ts';
import { explainHold } from '../../src/ops/answers/account-schemas.ts';
import { NOW, someBatches, someStatus, someWorker } from '../ops/web/pages/snapshots.ts';

const MIN = 60_000;
const worker = (fields = {}) => someWorker({ version: VERSION, ...fields });
const GOOD = someStatus({ workers: [worker()] });
const NOTHING = { notices: 0, batches: [] };

const held = (kind: HoldKind) => ({
  hold: explainHold({ kind, code: 'C', since: NOW, nextProbeAt: NOW, failedProbes: 0 }),
});
const LATE = { jobs: { ...GOOD.jobs, waiting: 3 }, oldestWaitingMs: 6 * MIN };
const OPEN = {
  id: 'autumn',
  phase: 'sending',
  total: 9,
  pending: 5,
  stalled: false,
} as const;
const batches = (some: object) => ({
  batches: someBatches({ open: 1, openBatches: [{ ...OPEN, ...some }] }),
});

describe('the queue', () => {
  it('is fine where all is well', () => {
    const findings = judgeQueue(GOOD, NOTHING);
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

  const kinds = (Object.keys(HOLDS) as HoldKind[]).filter((kind) => kind !== 'throttled');
  it.each(kinds)('held: %s, with its remedy', (kind) => {
    const [hold] = judgeQueue({ ...GOOD, ...held(kind) }, NOTHING);
    expect(hold).toMatchObject({
      level: kind === 'manual' ? 'warn' : 'fail',
      remedy: HOLDS[kind].remedy,
    });
    expect(hold?.says).toContain(HOLDS[kind].reason.slice(1));
  });

  it.each([
    ['queue.hold', held('throttled'), 'warn', 'Paused because the service asked'],
    ['queue.workers', { workers: [] }, 'warn', 'Nothing is sent'],
    ['queue.workers', { ...LATE, workers: [] }, 'fail', 'notices wait'],
    [
      'queue.workers',
      { workers: [], batches: someBatches({ pending: 7 }) },
      'fail',
      'notices wait',
    ],
    ['queue.workers', { workers: [worker({ loopDelayMs: 1_000 })] }, 'warn', '1 of 1'],
    ['queue.workers', { workers: [worker(), worker()] }, 'ok', '2 alive'],
    [
      'queue.versions',
      { workers: [worker(), worker({ version: '0.0.9' })] },
      'warn',
      `0.0.9, ${VERSION}`,
    ],
    ['queue.versions', { workers: [worker({ version: '0.0.9' })] }, 'warn', 'this program'],
    ['queue.versions', { workers: [] }, 'ok', VERSION],
    ['queue.waiting', LATE, 'warn', 'the oldest for 6 min'],
    ['queue.waiting', { ...LATE, workers: [] }, 'ok', '3 single notices waiting'],
    ['queue.waiting', { ...LATE, ...held('credit') }, 'ok', '3 single notices waiting'],
    ['queue.waiting', { ...LATE, oldestWaitingMs: 4 * MIN }, 'ok', '3 single notices waiting'],
    ['queue.batches', batches({ stalled: true }), 'warn', 'autumn'],
    ['queue.batches', batches({ phase: 'paused' }), 'ok', '1 open'],
    ['queue.unknown', { unknown: { notices: 1, contacts: 6 } }, 'warn', '7 unknown outcomes'],
  ] as const)('%s %#: %s', (check, some, level, words) => {
    const finding = judgeQueue({ ...GOOD, ...some }, NOTHING).find((one) => one.check === check);
    expect(finding).toMatchObject({ level, says: expect.stringContaining(words) as string });
    expect(finding?.remedy === undefined).toBe(level === 'ok');
  });

  it.each([
    [{ notices: 0, batches: ['autumn'] }, 'autumn', '"notices failures autumn --csv", or'],
    [
      { notices: 12, batches: [] },
      '12 failed notices will be deleted soon',
      '"notices failures --single --csv", or send them again with "notices decide --single --as resend"',
    ],
    [
      { notices: 1, batches: ['autumn'] },
      '1 failed notice and failed contacts of 1 batch, such as of autumn, will',
      '"notices failures --single --csv" and "notices failures autumn --csv"',
    ],
  ])('what will be deleted soon: %j', (soon, words, remedy) => {
    const finding = judgeQueue(GOOD, soon).at(-1);
    expect(finding).toMatchObject({ level: 'warn' });
    expect(finding?.says).toContain(words);
    expect(finding?.remedy).toContain(remedy);
  });
});
