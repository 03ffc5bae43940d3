import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fromAptGet } from '../../scripts/browser/from-apt-get.ts';
import { fromEnvironment } from '../../scripts/browser/from-environment.ts';
import { fromPath } from '../../scripts/browser/from-path.ts';
import { BROWSER_STEPS, provideBrowser } from '../../scripts/browser/provide-browser.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'notice-queue-test-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function program(name: string): string {
  const file = path.join(dir, name);
  writeFileSync(file, '#!/bin/sh\n');
  chmodSync(file, 0o755);
  return file;
}

describe('a browser', () => {
  it('is one that is named, one that is installed, one that can be fetched', () => {
    expect(BROWSER_STEPS).toEqual([fromEnvironment, fromPath, fromAptGet]);
  });

  it('that CHROMIUM_PATH names goes before one on the PATH', async () => {
    const [named, found] = [program('my-browser'), program('chromium')];
    expect(await provideBrowser({ env: { CHROMIUM_PATH: named, PATH: dir } })).toBe(named);
    expect(await provideBrowser({ env: { CHROMIUM_PATH: ' ', PATH: dir } })).toBe(found);
  });

  it('that is named and no program ends the search', async () => {
    program('chromium');
    const env = { CHROMIUM_PATH: path.join(dir, 'none'), PATH: dir };
    await expect(provideBrowser({ env })).rejects.toThrow('CHROMIUM_PATH does not name a program.');
  });

  it('that cannot be had is said to be so, with every reason and the remedy', async () => {
    await expect(provideBrowser({ env: { PATH: dir } })).rejects.toThrow(
      'No browser was found: CHROMIUM_PATH is not set. No chromium is on PATH. ' +
        'This machine has no apt-get. Install Chromium, or set CHROMIUM_PATH to its program.',
    );
  });
});
