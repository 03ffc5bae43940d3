import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { WorkerRefusal } from '../../../workers/send/worker-refusal.ts';

type Hold = Extract<Outcome, { kind: 'hold' }>;

const REFUSED: Hold = { kind: 'hold', hold: 'credentials', code: 'IP_NOT_ALLOWED' };

/** A worker's refusal; `all` is whether every live worker is refused. */
function refusalOf({ all = false } = {}) {
  const seen: unknown[] = [];
  const fleet = { all, asked: 0 };
  const refusal = new WorkerRefusal({
    add: () => {
      fleet.asked++;
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

describe('a worker that the service refuses alone', () => {
  it.each<[string, Hold, boolean]>([
    ['a code about the caller', REFUSED, true],
    ['a code about the app', { ...REFUSED, code: 'ACCESS_KEY_NOT_APPROVED' }, true],
    ['a refused issuance', { ...REFUSED, code: 'INVALID_ACCESS_KEY', always: true }, true],
    ['a code about the token', { ...REFUSED, code: 'INVALID_ACCESS_KEY', ownAfter: 0 }, false],
    ['an answer rule', { ...REFUSED, code: 'ANSWER_RULE_1' }, false],
    ['an endpoint that fails', { ...REFUSED, hold: 'token-unavailable', always: true }, false],
    ['no credit', { ...REFUSED, hold: 'credit', code: 'HTTP_402' }, false],
  ])('%s: %#', async (_name, outcome, alone) => {
    const { refusal, seen } = refusalOf();
    expect(await refusal.isAlone(outcome)).toBe(alone);
    expect(seen).toEqual(alone ? ['suspended', 100] : []);
  });

  it('takes no jobs for a time that doubles, to the longest one', async () => {
    const { refusal, seen } = refusalOf();
    for (const ms of [100, 200, 350, 350]) {
      await refusal.isAlone(REFUSED);
      expect(seen.splice(0)).toEqual(['suspended', ms]);
      await vi.advanceTimersByTimeAsync(ms - 1);
      expect(seen).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(seen.splice(0)).toEqual(['resumed']);
    }
  });

  it('takes none as long as its issuance is refused', async () => {
    const { refusal, seen } = refusalOf();
    await refusal.isAlone({ ...REFUSED, always: true, forMs: 5_000 });
    expect(seen).toEqual(['suspended', 5_000]);
  });

  it('asks once for all of its jobs in progress', async () => {
    const { refusal, fleet, seen } = refusalOf();
    await Promise.all([refusal.isAlone(REFUSED), refusal.isAlone(REFUSED)]);
    expect(await refusal.isAlone(REFUSED)).toBe(true);
    expect(fleet.asked).toBeLessThanOrEqual(2);
    expect(seen).toEqual(['suspended', 100]);
  });

  it('is ready again with the first acceptance, and begins anew', async () => {
    const { refusal, seen } = refusalOf();
    await refusal.isAlone(REFUSED);
    await vi.advanceTimersByTimeAsync(100);
    refusal.accepted();
    refusal.accepted();
    expect(seen).toEqual(['suspended', 100, 'resumed', 'over', 'removed']);
    await refusal.isAlone(REFUSED);
    expect(seen.slice(-2)).toEqual(['suspended', 100]);
  });
});

it('a worker that stops is neither suspended nor resumed', async () => {
  const { refusal, seen } = refusalOf();
  await refusal.isAlone(REFUSED);
  refusal.stop();
  refusal.held('credentials');
  refusal.accepted();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(seen).toEqual(['suspended', 100, 'removed']);
  const other = refusalOf();
  other.refusal.stop();
  expect(await other.refusal.isAlone(REFUSED)).toBe(true);
  expect(other.seen).toEqual([]);
});

describe('where every live worker is refused', () => {
  it('nothing is suspended: the queue is held', async () => {
    const { refusal, seen } = refusalOf({ all: true });
    expect(await refusal.isAlone(REFUSED)).toBe(false);
    expect(seen).toEqual([]);
  });

  it('a suspension ends with that hold, not with another one', async () => {
    const { refusal, seen } = refusalOf();
    await refusal.isAlone(REFUSED);
    refusal.held('credit');
    expect(seen).toEqual(['suspended', 100]);
    refusal.held('credentials');
    refusal.held('credentials');
    expect(seen).toEqual(['suspended', 100, 'resumed', 'over']);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(seen).toHaveLength(4);
  });
});
