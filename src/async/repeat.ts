import type { BackgroundService } from './lifecycle.ts';

/**
 * Runs work again and again, with a pause after each run: a slow run delays only itself. The pause varies by a
 * fifth, so that the processes of a fleet do not all run at the same time.
 *
 * @param work must not reject
 * @returns a service; its stop waits for the run in progress
 */
export function repeat(work: () => Promise<void>, everyMs: number): BackgroundService<void> {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isStopped = false;
  const run = () => {
    running = work().finally(() => {
      if (!isStopped) timer = setTimeout(run, everyMs * (0.8 + Math.random() * 0.4));
    });
  };
  return {
    start: () => {
      if (running === undefined && !isStopped) run();
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
