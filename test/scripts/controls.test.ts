import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONTROLS } from '../../scripts/controls/controls.ts';
import { tierOf } from '../support/tiers.ts';

describe('the controls of security', () => {
  it('are each named once', () => {
    const names = CONTROLS.map(({ prevents }) => prevents);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(CONTROLS)('$prevents: can be disabled, and has its test', (control) => {
    const { file, from, to, test } = control;
    expect(readFileSync(file, 'utf8').split(from)).toHaveLength(2);
    expect(to).not.toBe(from);
    expect([existsSync(`test/${test}`), tierOf(`test/${test}`)]).toEqual([
      true,
      expect.any(String),
    ]);
  });
});
