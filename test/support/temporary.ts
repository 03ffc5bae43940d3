import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** When what a test made goes away: `onTestFinished`, `afterAll` or the like. */
export type AtEnd = (hook: () => void | Promise<void>) => void;

/** A folder that goes away with the test. */
export function temporaryFolder(atEnd: AtEnd = onTestFinished): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'notices-test-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a file that goes away with the test. @returns its absolute path */
export function temporaryFile(content: string | Uint8Array, name = 'file', atEnd?: AtEnd): string {
  const file = path.join(temporaryFolder(atEnd), name);
  writeFileSync(file, content);
  return file;
}
