import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { blocksOf } from './docs/support/readme-blocks.ts';
import { claimOne } from './support/claim.ts';

/** An installation and a run of the demo, on a slow machine. */
const DEADLINE_MS = 1_200_000;

/** The demo leaves its keys there while it runs, which another file would take for its own. */
const { urls, claims } = inject('redis');
const claim = claimOne(claims, urls.length);

const folder = mkdtempSync(path.join(tmpdir(), 'notices-clone-'));
const clone = path.join(folder, 'clone');
const application = path.join(folder, 'application');

/** Runs a block of README and returns what it writes to standard output. */
function run(block: string, cwd: string): string {
  // A reader's shell has none of what .ci/run sets.
  const {
    REDIS_URL: _,
    npm_config_ignore_scripts: __,
    NOTICES_SKIP_BUILD: ___,
    ...env
  } = process.env;
  return execFileSync('bash', ['-ec', block], {
    cwd,
    env: { ...env, REDIS_URL: urls[claim.index] },
    encoding: 'utf8',
    timeout: DEADLINE_MS,
  });
}

beforeAll(() => {
  execFileSync('git', ['clone', '--quiet', '--depth=1', `file://${process.cwd()}`, clone]);
  mkdirSync(application);
  writeFileSync(path.join(application, 'package.json'), '{ "private": true, "type": "module" }\n');
});

afterAll(() => {
  claim.release();
  rmSync(folder, { recursive: true, force: true });
}, DEADLINE_MS);

it(
  'what README shows for a clone works in a fresh clone, and prints what it shows',
  () => {
    const [shown = ''] = blocksOf('output');
    const printed = blocksOf('clone').map((block) => run(block, clone));
    expect(printed.at(-1)).toContain(shown);

    // The reader copies the packed file to the application.
    const packed = readdirSync(clone).find((file) => file.endsWith('.tgz')) ?? '';
    copyFileSync(path.join(clone, packed), path.join(application, packed));
    for (const block of blocksOf('application')) run(block, application);
    const version = execFileSync('npx', ['notices', '--version'], { cwd: application });
    expect(packed).toBe(`notice-queue-${version.toString().trim()}.tgz`);
  },
  DEADLINE_MS,
);
