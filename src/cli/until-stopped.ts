import type { CommandContext } from './command-context.ts';

/**
 * Runs with a signal that Ctrl-C and SIGTERM abort; a second one of them ends the process at once.
 */
export async function untilStopped<Result>(
  { signals }: Pick<CommandContext, 'signals'>,
  use: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  signals.once('SIGINT', onSignal);
  signals.once('SIGTERM', onSignal);
  try {
    return await use(stop.signal);
  } finally {
    signals.off('SIGINT', onSignal);
    signals.off('SIGTERM', onSignal);
  }
}

/** Waits until it is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
