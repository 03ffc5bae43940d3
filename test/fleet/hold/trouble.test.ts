import { describe, expect, it } from 'vitest';
import { AccountRow, QUIET_MS } from '../../../src/fleet/hold/trouble.ts';

describe('AccountRow', () => {
  it('puts off no job of the row for longer than ten seconds where others are only rejected', () => {
    const row = new AccountRow(0);
    row.note('failed', 1_000);
    expect(row.has('another', 1_000)).toBe(false);
    expect(row.has('failed', 1_000 + QUIET_MS - 1)).toBe(true);
    expect(row.has('failed', 1_000 + QUIET_MS)).toBe(false);
  });
});
