/** Work that is repeated. */
export interface Repeated {
  /** Starts the first run. Has no effect when called again. */
  start(): void;
  /** Stops after the run in progress, and waits for it. */
  stop(): Promise<void>;
}

/**
 * Runs work again and again, with a pause after each run: a slow run delays only itself. The pause varies by a
 * fifth, so that the processes of a fleet do not all run at the same time.
 *
 * @param work must not reject
 */
export function repeat(work: () => Promise<void>, everyMs: number): Repeated {
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
