import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../../workers/queue/attempt-error.ts';

const SETTINGS = { backoffBaseMs: 1_000, backoffCapMs: 300_000 };

describe('backoffMs', () => {
  it.each([
    [1, 1_000],
    [2, 2_000],
    [5, 16_000],
    [9, 256_000],
    [10, 300_000],
    [1_000, 300_000],
  ])('after %i attempts is at most %i ms', (attempts, most) => {
    expect(backoffMs(attempts, SETTINGS, 0.999_999)).toBe(most);
    expect(backoffMs(attempts, SETTINGS, 0)).toBe(1);
    expect(backoffMs(attempts, SETTINGS, 0.5)).toBe(most / 2);
  });
});
