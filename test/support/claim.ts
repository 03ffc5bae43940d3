import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const DEADLINE_MS = 10_000;
const EVERY_MS = 20;

/** One of several things that test processes share, taken by this one. */
export interface Claim {
  readonly index: number;
  readonly release: () => void;
}

/**
 * Takes one of `count` things, each of which only one process uses at a time. What a process took that has
 * ended is free again. (`VITEST_POOL_ID` does not tell the workers of vitest apart: two of them can have
 * the same one after a change of project.)
 *
 * A claim is a file named by the thing and the process. It holds if no living process had one for the same
 * thing when it was made; of two that are made at once both may fail and be tried again, but never both
 * hold.
 *
 * @param folder holds a file for each claim
 * @throws Error when none is given back in time
 */
export function claimOne(folder: string, count: number): Claim {
  const deadline = performance.now() + DEADLINE_MS;
  while (performance.now() < deadline) {
    for (let index = 0; index < count; index++) {
      const own = path.join(folder, `${index}.${process.pid}`);
      writeFileSync(own, '');
      const release = () => rmSync(own, { force: true });
      if (!isTaken(folder, index)) return { index, release };
      release();
    }
    // A process that has released nothing may be about to end. Random, so that two do not meet again.
    const waitMs = EVERY_MS * (0.5 + Math.random());
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs);
  }
  throw new Error(`none of ${count} was free within ${DEADLINE_MS} ms`);
}

/** Whether another living process has a claim; removes those of processes that have ended. */
function isTaken(folder: string, index: number): boolean {
  const others = readdirSync(folder)
    .map((name) => name.split('.').map(Number))
    .filter(([of, pid]) => of === index && pid !== process.pid);
  for (const [, pid = 0] of others) {
    if (isAlive(pid)) return true;
    rmSync(path.join(folder, `${index}.${pid}`), { force: true });
  }
  return false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
