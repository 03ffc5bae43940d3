import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { format, resolveConfig } from 'prettier';
import type { TestProject } from 'vitest/node';
import { IS_SHORT } from './catalogue.ts';
import { readRows, renderReport } from './report.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** File that takes a line for each scenario. */
    chaosRows: string;
  }
}

const PAGE = new URL('../../../docs/reliability.md', import.meta.url).pathname;

/**
 * After the last scenario: names those that broke a law, and writes docs/reliability.md where every
 * one of the long form held in this run.
 */
export function setup(project: TestProject): () => Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'notices-chaos-'));
  const file = path.join(folder, 'rows.ndjson');
  writeFileSync(file, '');
  project.provide('chaosRows', file);
  return async () => {
    const rows = readRows(file);
    rmSync(folder, { recursive: true, force: true });
    for (const { scenario, delivery, broken } of rows) {
      for (const law of broken) console.log(`BROKEN ${scenario}, ${delivery}: ${law}`);
    }
    if (IS_SHORT) return;
    const report = renderReport(rows);
    if ('missing' in report) {
      console.log(
        `docs/reliability.md stays as it is: ${report.missing.length} scenarios left out`,
      );
      return;
    }
    const style = await resolveConfig(PAGE);
    writeFileSync(PAGE, await format(report.page, { ...style, filepath: PAGE }));
    console.log('docs/reliability.md is written');
  };
}
