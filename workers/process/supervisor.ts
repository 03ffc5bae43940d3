import { fork, type ChildProcess } from 'node:child_process';
import type { Logger } from 'pino';
import type { HealthConfig } from '../../src/config/config.ts';
import { startHealthServer } from '../health/health-server.ts';
import { STOP_MESSAGE, stopOnSignals } from './stop-signals.ts';
import { SupervisedHealth } from '../health/supervised-health.ts';

/** Delay before a process that ended by itself is restarted, so that a crash loop stays slow. */
const RESTART_DELAY_MS = 1_000;

/**
 * Exit code of an invalid configuration: a restart would not help, unless the process ran before. Then a file of the
 * configuration, such as that of a secret, was probably read while it was replaced. A Redis that is unsuitable,
 * refuses commands or does not answer (code 3) may be another one a moment later, after a failover.
 */
const CONFIGURATION_INVALID = 2;

/**
 * Runs several worker processes, for machines with several cores. Each is a complete worker; they share
 * the token and the holds through Redis like workers on other machines.
 *
 * A process that ends by itself, or could not be started, is started again. One whose configuration is invalid is started
 * again only if it ran before and another one runs. At SIGTERM or SIGINT the supervisor asks its processes by message to
 * stop: a signal to the whole group has reached them already, and a second one would end them in the middle of their
 * sends. It ends when the last process has ended; where it is killed, they stop by themselves. One health port answers
 * for all.
 * @returns the exit code: 0, or that of the worst process
 * @throws NoticeQueueError CONFIG_INVALID if it cannot listen on the health port
 */
export async function superviseWorkers(
  count: number,
  shutdownTimeoutMs: number,
  logger: Logger,
  at: HealthConfig = { port: 0, host: '' },
): Promise<number> {
  const script = new URL('../main.js', import.meta.url);
  const children = new Map<number, ChildProcess>();
  const health = new SupervisedHealth(count, (index) => children.get(index));
  const server = at.port === 0 ? undefined : await startHealthServer(at, health);
  const restarts = new Set<NodeJS.Timeout>();
  let stopping = false;
  let worst = 0;
  let allEnded = () => {};
  const ended = new Promise<void>((resolve) => {
    allEnded = resolve;
  });

  const startAgain = (index: number) => {
    health.ended(index);
    const restart = setTimeout(() => {
      restarts.delete(restart);
      start(index, true);
    }, RESTART_DELAY_MS);
    restarts.add(restart);
  };
  const notStarted = (index: number, error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    logger.error({ event: 'worker-not-started', code });
    children.delete(index);
    if (!stopping) startAgain(index);
    else if (children.size === 0) allEnded();
  };
  const cancelRestarts = () => {
    for (const restart of restarts) clearTimeout(restart);
    restarts.clear();
  };
  const start = (index: number, isAgain = false) => {
    let child: ChildProcess;
    try {
      child = fork(script, [String(index)], { stdio: 'inherit' });
    } catch (error) {
      // Of open files there are too few, for example.
      notStarted(index, error);
      return;
    }
    children.set(index, child);
    child.on('error', (error) => {
      // A process that runs has an error, too, where a signal or message did not reach it.
      if (child.pid === undefined) notStarted(index, error);
    });
    child.once('exit', (code, signal) => {
      children.delete(index);
      const nothingRuns = children.size === 0;
      const isInvalid = code === CONFIGURATION_INVALID && (nothingRuns || !isAgain);
      if (isInvalid && isAgain) cancelRestarts();
      const isLast = nothingRuns && restarts.size === 0;
      // The last one has said itself that its configuration is invalid.
      if (!stopping && !(isInvalid && isLast)) {
        logger.error({ event: 'worker-died', pid: child.pid, code, signal });
      }
      if (stopping || isInvalid) {
        health.endedForGood(index);
        worst = Math.max(worst, code ?? 1);
        if (isLast) allEnded();
        return;
      }
      startAgain(index);
    });
  };
  for (let index = 0; index < count; index++) start(index);

  const signalled = stopOnSignals(
    async () => {
      stopping = true;
      cancelRestarts();
      for (const child of children.values()) askToStop(child);
      if (children.size === 0) allEnded();
      await ended;
    },
    // Each process has the timeout itself; this one is longer.
    shutdownTimeoutMs + 5_000,
    logger,
  );
  await Promise.race([ended, signalled]);
  server?.close();
  return worst;
}

/** A process that is not connected (any more) gets a signal instead. */
function askToStop(child: ChildProcess): void {
  if (!child.connected) {
    child.kill('SIGTERM');
    return;
  }
  child.send(STOP_MESSAGE, (error) => {
    if (error !== null) child.kill('SIGTERM');
  });
}
