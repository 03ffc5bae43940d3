import type { Outcome } from '../../src/contracts/outcome.ts';

/** What {@link WorkerRefusal} needs. */
export interface WorkerRefusalOptions {
  /** Records that this worker is refused; answers whether every live worker is. */
  readonly add: () => Promise<boolean>;
  /** Records that a request of this worker was accepted. */
  readonly remove: () => Promise<void>;
  /** HOLD_PROBE_MIN_MS and HOLD_PROBE_MAX_MS: the first suspension, and the longest one. */
  readonly settings: { readonly probeMinMs: number; readonly probeMaxMs: number };
  /** Takes no further jobs, or takes them again. */
  readonly suspend: (suspended: boolean) => void;
  /** Whether it is refused, for its readiness and its log; `forMs` is how long it is suspended. */
  readonly onChange: (
    refused: { readonly code: string; readonly forMs: number } | undefined,
  ) => void;
}

/**
 * - `first`: perhaps of the notice, as the service accepted requests of this worker before.
 * - `alone`: of this worker, and not of every live one: nothing is held.
 * - `all`: of every live worker: the queue is held.
 */
export type RefusalVerdict = 'first' | 'alone' | 'all';

/**
 * The service refuses a key pair or an address. That concerns the worker that has it: one with an address outside the
 * allowlist, or with another secret, must not hold a fleet whose other workers send.
 *
 * - sending: the usual state.
 * - doubted: one send request was refused with such a code, and none was accepted since. sending -> doubted: the refusal.
 * - suspended: it was refused again, or the issuance of a token was, and at least one live worker was not refused. It
 *   takes no jobs for a time that doubles with each suspension, and is not ready; its jobs are returned without an attempt.
 * - trying: that time is over, or a hold was lifted: it takes jobs again, and is not ready yet. trying -> suspended:
 *   refused again.
 *
 * Any state -> sending: a request is accepted. Where every live worker is refused, the queue is held, and its
 * probes decide.
 */
export class WorkerRefusal {
  readonly #options: WorkerRefusalOptions;
  /** Refusals in a row. */
  #row = 0;
  /** It may be recorded as refused. */
  #recorded = false;
  #unready = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: WorkerRefusalOptions) {
    this.#options = options;
  }

  /**
   * Whose refusal it is that ended an attempt.
   *
   * @throws ScriptFailure, and what ioredis throws
   */
  async judge(outcome: Extract<Outcome, { kind: 'hold' }>): Promise<RefusalVerdict> {
    if (this.#timer !== undefined) return 'alone';
    // Who refuses a token refuses no notice.
    if (outcome.always !== true && this.#row === 0) {
      this.#row = 1;
      return 'first';
    }
    this.#recorded = true;
    if (await this.#options.add()) return 'all';
    this.#suspend(outcome);
    return 'alone';
  }

  /** A request of this worker was accepted. */
  accepted(): void {
    if (this.#row === 0 && !this.#recorded) return;
    this.#row = 0;
    this.#resume();
    if (this.#unready) {
      this.#unready = false;
      this.#options.onChange(undefined);
    }
    if (!this.#recorded) return;
    this.#recorded = false;
    this.#options.remove().catch(() => {
      this.#recorded = true;
    });
  }

  /** A hold was lifted: what was refused may not be any more. */
  lifted(): void {
    this.#resume();
  }

  /** Suspends and resumes nothing from now on: a worker that closes takes no jobs. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #suspend({ code, forMs = 0 }: Extract<Outcome, { kind: 'hold' }>): void {
    if (this.#timer !== undefined || this.#stopped) return;
    const { settings, suspend, onChange } = this.#options;
    const { probeMinMs, probeMaxMs } = settings;
    const ms = Math.min(probeMaxMs, probeMinMs * 2 ** Math.min(this.#row, 30));
    this.#row++;
    // Another worker is to ask for the next token.
    const longest = Math.max(ms, 2 * forMs);
    this.#timer = setTimeout(() => this.#resume(), longest);
    suspend(true);
    this.#unready = true;
    onChange({ code, forMs: longest });
  }

  #resume(): void {
    if (this.#timer === undefined || this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#options.suspend(false);
  }
}
