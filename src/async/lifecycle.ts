import { withTimeout } from './repeat.ts';

/** A part of a process that runs in the background. */
export interface BackgroundService<Started = unknown> {
  /** Starts it. May throw; `stop()` then ends what it may have started. */
  start(): Started | Promise<Started>;
  /** Stops it. Has no effect when called again, or before `start()`. */
  stop(): void | Promise<void>;
}

/** How long a service may take to stop. By then Redis does not answer: a graceful stop would hang. */
const STOP_TIMEOUT_MS = 2_000;

/** The same after one service did not stop in time: the next ones would wait for the same. */
const STOP_TIMEOUT_AFTER_ONE_MS = 500;

/**
 * Starts the services of a process one after the other and stops them in reverse order. A service that
 * fails to start stops those that were started before it.
 */
export class Lifecycle {
  readonly #started: Parameters<Lifecycle['onStop']>[] = [];
  #stopping: Promise<void> | undefined;

  /**
   * Starts a service.
   *
   * @param timeoutMs how long its stop may take before the next one is stopped; Infinity for as long as
   *   it takes. Default: 2 s, or 0.5 s after another service did not stop in time
   * @throws what it throws, once all services are stopped
   */
  async start<Started>(service: BackgroundService<Started>, timeoutMs?: number): Promise<Started> {
    this.onStop(() => service.stop(), timeoutMs);
    try {
      return await service.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Registers what is to be done at the stop, for something that is already running. */
  onStop(stop: () => void | Promise<void>, timeoutMs?: number): void {
    this.#started.push([stop, timeoutMs]);
  }

  /** Stops all services, the last one first. An error of one is ignored: the others must still stop. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    let usualMs = STOP_TIMEOUT_MS;
    for (const [stop, timeoutMs] of this.#started.toReversed()) {
      const stopped = (async () => stop())().then(
        () => true,
        () => true,
      );
      if (timeoutMs === Infinity) await stopped;
      else if (!(await withTimeout(stopped, timeoutMs ?? usualMs, false))) {
        usualMs = STOP_TIMEOUT_AFTER_ONE_MS;
      }
    }
  }
}
