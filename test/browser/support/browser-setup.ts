import type { TestProject } from 'vitest/node';
import { provideBrowser } from '../../../scripts/browser/provide-browser.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the browser's program. */
    chromium: string;
  }
}

/** Before the first test file: finds or gets one browser for the whole run. */
export async function setup(project: TestProject): Promise<void> {
  project.provide('chromium', await provideBrowser());
}
