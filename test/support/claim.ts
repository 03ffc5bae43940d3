import { openSync, closeSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';

const DEADLINE_MS = 10_000;
const EVERY_MS = 20;

/** One of several things that test processes share, taken by this one. */
export interface Claim {
  readonly index: number;
  readonly release: () => void;
}

/**
 * Takes one of `count` things, each of which only one process uses at a time. What this process took
 * before, or a process that has ended, is free again. (`VITEST_POOL_ID` does not tell the workers of
 * vitest apart: two of them can have the same one after a change of project.)
 *
 * @param folder holds a file for each that is taken
 * @throws Error when none is given back in time
 */
export function claimOne(folder: string, count: number): Claim {
  const deadline = performance.now() + DEADLINE_MS;
  while (performance.now() < deadline) {
    for (let index = 0; index < count; index++) {
      const file = path.join(folder, String(index));
      freeIfStale(file);
      if (take(file)) return { index, release: () => rmSync(file, { force: true }) };
    }
    // A process that has released nothing may be about to end.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EVERY_MS);
  }
  throw new Error(`none of ${count} was free within ${DEADLINE_MS} ms`);
}

function take(file: string): boolean {
  try {
    const opened = openSync(file, 'wx');
    writeSync(opened, String(process.pid));
    closeSync(opened);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function freeIfStale(file: string): void {
  try {
    const owner = Number(readFileSync(file, 'utf8'));
    // Empty for a moment, before the owner has written its id.
    if (owner === 0 || (owner !== process.pid && isAlive(owner))) return;
    // Only one process succeeds.
    const stale = `${file}.${process.pid}`;
    renameSync(file, stale);
    rmSync(stale, { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
