import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { claimOne } from './claim.ts';

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'notices-claims-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

it('takes what no living process has, and gives it back', () => {
  const claims = folder();
  // The parent of this process lives; the other one has ended.
  writeFileSync(path.join(claims, `0.${process.ppid}`), '');
  writeFileSync(path.join(claims, `1.${spawnSync(process.execPath, ['-e', '']).pid}`), '');
  const claim = claimOne(claims, 3);
  expect(claim.index).toBe(1);
  // What it has itself is free for its next file.
  expect(claimOne(claims, 3).index).toBe(1);
  claim.release();
  expect(readdirSync(claims)).toEqual([`0.${process.ppid}`]);
});
