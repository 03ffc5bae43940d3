import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { WorkerRefusal } from '../../../workers/send/worker-refusal.ts';

type Hold = Extract<Outcome, { kind: 'hold' }>;

const REFUSED: Hold = {
  kind: 'hold',
  hold: 'credentials',
  code: 'IP_NOT_ALLOWED',
  caller: 'refused',
};

/** A worker's refusal; `all` is whether every live worker is refused. */
function refusalOf({ all = false } = {}) {
  const seen: unknown[] = [];
  const fleet = { all, asked: 0 };
  const refusal = new WorkerRefusal({
    add: (waitsMs) => {
      fleet.asked++;
      if (waitsMs !== undefined) seen.push(`waits ${waitsMs}`);
      return Promise.resolve(fleet.all);
    },
    remove: () => {
      seen.push('removed');
      return Promise.resolve();
    },
    settings: { probeMinMs: 100, probeMaxMs: 350 },
    suspend: (suspended) => seen.push(suspended ? 'suspended' : 'resumed'),
    onChange: (refused) => seen.push(refused?.forMs ?? 'over'),
  });
  return { refusal, fleet, seen };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

const ISSUANCE: Hold = { ...REFUSED, always: true };

describe('a worker that the service refuses alone', () => {
  it('is suspended with the second refusal in a row: the first may be of the notice', async () => {
    const { refusal, seen, fleet } = refusalOf();
    expect(await refusal.judge(REFUSED)).toBe('first');
    expect([seen, fleet.asked]).toEqual([[], 0]);
    expect(await refusal.judge(REFUSED)).toBe('alone');
    expect(seen).toEqual(['suspended', 200]);
  });

  it('is not suspended where its requests are accepted in between', async () => {
    const { refusal, seen, fleet } = refusalOf();
    for (let round = 0; round < 5; round++) {
      expect(await refusal.judge(REFUSED)).toBe('first');
      refusal.accepted();
    }
    expect([seen, fleet.asked]).toEqual([[], 0]);
  });

  it('takes no jobs for a time that doubles, to the longest one', async () => {
    const { refusal, seen } = refusalOf();
    for (const ms of [100, 200, 350, 350]) {
      expect(await refusal.judge(ISSUANCE)).toBe('alone');
      expect(seen.splice(0)).toEqual(['suspended', ms]);
      await vi.advanceTimersByTimeAsync(ms - 1);
      expect(seen).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(seen.splice(0)).toEqual(['resumed']);
    }
  });

  it('leaves the next issuance to another worker', async () => {
    const { refusal, seen } = refusalOf();
    await refusal.judge({ ...ISSUANCE, forMs: 5_000 });
    expect(seen).toEqual(['suspended', 10_000]);
  });

  it('asks once for all of its jobs in progress', async () => {
    const { refusal, fleet, seen } = refusalOf();
    await refusal.judge(ISSUANCE);
    expect(await refusal.judge(ISSUANCE)).toBe('alone');
    expect(await refusal.judge(REFUSED)).toBe('alone');
    expect(fleet.asked).toBe(1);
    expect(seen).toEqual(['suspended', 100]);
  });

  it('asks once for all that are refused at the same moment', async () => {
    const { refusal, fleet, seen } = refusalOf();
    const judged = Array.from({ length: 40 }, () => refusal.judge(ISSUANCE));
    expect(new Set(await Promise.all(judged))).toEqual(new Set(['alone']));
    expect(fleet.asked).toBe(1);
    expect(seen).toEqual(['suspended', 100]);
  });

  it('is ready again with the first acceptance, and begins anew', async () => {
    const { refusal, seen } = refusalOf();
    await refusal.judge(ISSUANCE);
    await vi.advanceTimersByTimeAsync(100);
    refusal.accepted();
    refusal.accepted();
    expect(seen).toEqual(['suspended', 100, 'resumed', 'over', 'removed']);
    await refusal.judge(ISSUANCE);
    expect(seen.slice(-2)).toEqual(['suspended', 100]);
  });

  it('tries again when a hold is lifted, and is not ready before an acceptance', async () => {
    const { refusal, seen } = refusalOf();
    await refusal.judge(ISSUANCE);
    refusal.lifted();
    expect(seen).toEqual(['suspended', 100, 'resumed']);
    expect(await refusal.judge(REFUSED)).toBe('alone');
    expect(seen.slice(-2)).toEqual(['suspended', 200]);
    refusal.accepted();
    expect(seen.slice(-3)).toEqual(['resumed', 'over', 'removed']);
  });
});

it('is not suspended where a request is accepted while it is recorded, and is removed after that', async () => {
  const { refusal, seen } = refusalOf();
  const judged = refusal.judge(ISSUANCE);
  refusal.accepted();
  expect(seen.splice(0)).toEqual(['removed']);
  expect(await judged).toBe('alone');
  expect(seen).toEqual(['removed']);
});

it('is recorded again where it is refused after that acceptance', async () => {
  const { refusal, seen, fleet } = refusalOf();
  const first = refusal.judge(ISSUANCE);
  refusal.accepted();
  const second = refusal.judge(ISSUANCE);
  expect([await first, await second]).toEqual(['alone', 'alone']);
  expect(fleet.asked).toBe(2);
  expect(seen).toEqual(['removed', 'suspended', 100]);
});

describe('a worker whose key pair was refused to another one', () => {
  const WAITS: Hold = { ...ISSUANCE, caller: 'waits', forMs: 2_000 };

  it('waits for the next issuance: it is ready, and not recorded for longer', async () => {
    const { refusal, seen } = refusalOf();
    expect(await refusal.judge(WAITS)).toBe('alone');
    expect(seen.splice(0)).toEqual(['waits 2000', 'suspended']);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(seen.splice(0)).toEqual(['resumed']);
    refusal.accepted();
    expect(seen).toEqual(['removed']);
  });

  it('ends its wait where a request of it is accepted', async () => {
    const { refusal, seen } = refusalOf();
    await refusal.judge(WAITS);
    refusal.accepted();
    expect(seen).toEqual(['waits 2000', 'suspended', 'resumed', 'removed']);
  });

  it('holds the queue where all wait', async () => {
    const { refusal, seen } = refusalOf({ all: true });
    expect(await refusal.judge(WAITS)).toBe('all');
    expect(seen).toEqual(['waits 2000']);
  });
});

it('where every live worker is refused nothing is suspended, and the first acceptance is recorded', async () => {
  const { refusal, seen } = refusalOf({ all: true });
  expect(await refusal.judge(ISSUANCE)).toBe('all');
  expect(seen).toEqual([]);
  refusal.accepted();
  expect(seen).toEqual(['removed']);
});

it('a worker that stops is neither suspended nor resumed', async () => {
  const { refusal, seen } = refusalOf();
  await refusal.judge(ISSUANCE);
  refusal.stop();
  refusal.lifted();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(seen).toEqual(['suspended', 100]);
  const other = refusalOf();
  other.refusal.stop();
  expect(await other.refusal.judge(ISSUANCE)).toBe('alone');
  expect(other.seen).toEqual([]);
});
