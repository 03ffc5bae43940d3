import type { Outcome } from '../../src/contracts/outcome.ts';

type Caller = Extract<Outcome, { kind: 'hold' }>['caller'];

/** What {@link WorkerRefusal} needs. */
export interface WorkerRefusalOptions {
  /** Records that this worker is refused, or waits so many milliseconds; answers whether every live worker does. */
  readonly add: (waitsMs?: number) => Promise<boolean>;
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
 * A worker that has no token, because one with its key pair was refused, waits for the next issuance: it takes no jobs, and
 * is ready.
 *
 * Any state -> sending: a request is accepted. Where every live worker is refused, the queue is held, and its
 * probes decide.
 */
export class WorkerRefusal {
  readonly #options: WorkerRefusalOptions;
  /** Refusals in a row. */
  #row = 0;
  #acceptances = 0;
  /** It may be recorded as refused, or as one that waits. */
  #recorded = false;
  /** Records of it that are under way, since its last acceptance: its jobs in progress share them. */
  readonly #adding = new Map<Caller, Promise<boolean>>();
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
    // A refused issuance is never the fault of a notice.
    if (outcome.always !== true && this.#row === 0) {
      this.#row = 1;
      return 'first';
    }
    const before = this.#acceptances;
    const isAll = await this.#add(outcome);
    if (before !== this.#acceptances) {
      // Redis may have executed the removal first.
      if (!this.#recorded) this.#remove();
      return 'alone';
    }
    if (isAll) return 'all';
    if (outcome.caller === 'waits') this.#rest(outcome.forMs ?? 0);
    else this.#suspend(outcome);
    return 'alone';
  }

  /** A request of this worker was accepted. */
  accepted(): void {
    this.#acceptances++;
    this.#adding.clear();
    if (this.#row === 0 && !this.#recorded) return;
    this.#row = 0;
    this.#resume();
    if (this.#unready) {
      this.#unready = false;
      this.#options.onChange(undefined);
    }
    if (this.#recorded) this.#remove();
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

  async #add({ caller, forMs = 0 }: Extract<Outcome, { kind: 'hold' }>): Promise<boolean> {
    const { add } = this.#options;
    this.#recorded = true;
    const known = this.#adding.get(caller);
    if (known !== undefined) return known;
    const adding = caller === 'waits' ? add(forMs) : add();
    this.#adding.set(caller, adding);
    try {
      return await adding;
    } finally {
      if (this.#adding.get(caller) === adding) this.#adding.delete(caller);
    }
  }

  #remove(): void {
    this.#recorded = false;
    this.#options.remove().catch(() => {
      this.#recorded = true;
    });
  }

  #suspend({ code, forMs = 0 }: Extract<Outcome, { kind: 'hold' }>): void {
    const { settings, onChange } = this.#options;
    const { probeMinMs, probeMaxMs } = settings;
    const doubled = Math.min(probeMaxMs, probeMinMs * 2 ** Math.min(this.#row, 30));
    // Another worker is to ask for the next token.
    const ms = Math.max(doubled, 2 * forMs);
    if (!this.#rest(ms)) return;
    this.#row++;
    this.#unready = true;
    onChange({ code, forMs: ms });
  }

  /** Takes no jobs for a time, unless it does so already or stops. */
  #rest(ms: number): boolean {
    if (this.#timer !== undefined || this.#stopped) return false;
    this.#timer = setTimeout(() => this.#resume(), ms);
    this.#options.suspend(true);
    return true;
  }

  #resume(): void {
    if (this.#timer === undefined || this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#options.suspend(false);
  }
}
