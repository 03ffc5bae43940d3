import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** File that takes a line for each scenario. */
    chaosRows: string;
  }
}

export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(path.join(tmpdir(), 'notices-chaos-'));
  const file = path.join(folder, 'rows.ndjson');
  writeFileSync(file, '');
  project.provide('chaosRows', file);
  return () => rmSync(folder, { recursive: true, force: true });
}
