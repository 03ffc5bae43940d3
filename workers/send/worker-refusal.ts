import { APP_CODES } from '../../src/contracts/token.ts';
import type { HoldKind } from '../../src/contracts/hold.ts';
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
 * The service refuses a key pair or an address. That concerns the worker that has it: one with an address outside the
 * allowlist, or with another secret, must not hold a fleet whose other workers send.
 *
 * - sending: the usual state.
 * - suspended: it was refused, and at least one live worker was not. It takes no jobs, and is not ready. Its jobs are
 *   returned without an attempt.
 *   sending -> suspended: {@link WorkerRefusal.isAlone}, for a time that doubles with each one in a row.
 * - trying: that time is over; it takes jobs again, and is not ready until a request is accepted.
 *   trying -> suspended: refused again. trying -> sending: {@link WorkerRefusal.accepted}.
 *
 * Where every live worker was refused, the queue is held instead, and its probes decide: any state -> sending.
 */
export class WorkerRefusal {
  readonly #options: WorkerRefusalOptions;
  /** Suspensions in a row. */
  #row = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: WorkerRefusalOptions) {
    this.#options = options;
  }

  /**
   * Whether an attempt ended because the service refuses this worker, and not every live one: nothing is held then.
   *
   * @throws ScriptFailure
   */
  async isAlone(outcome: Extract<Outcome, { kind: 'hold' }>): Promise<boolean> {
    if (!isOfCaller(outcome)) return false;
    if (this.#timer !== undefined) return true;
    const isAll = await this.#options.add();
    if (isAll) return false;
    this.#suspend(outcome);
    return true;
  }

  /** A request of this worker was accepted. */
  accepted(): void {
    if (this.#row === 0) return;
    this.#end();
    // Where it stays recorded as refused, a hold is placed a little sooner than needed.
    this.#options.remove().catch(() => {});
  }

  /** The queue is held. */
  held(kind: HoldKind): void {
    if (kind === 'credentials' && this.#row > 0) this.#end();
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
    const ms = Math.max(forMs, Math.min(probeMaxMs, probeMinMs * 2 ** Math.min(this.#row, 30)));
    this.#row++;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      suspend(false);
    }, ms);
    suspend(true);
    onChange({ code, forMs: ms });
  }

  #end(): void {
    if (this.#stopped) return;
    const { suspend, onChange } = this.#options;
    this.#row = 0;
    if (this.#timer !== undefined) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      suspend(false);
    }
    onChange(undefined);
  }
}

/** Whether the refusal is of the key pair or the address: an issuance was refused, or the code states it. */
function isOfCaller({ hold, code, always }: Extract<Outcome, { kind: 'hold' }>): boolean {
  return hold === 'credentials' && (always === true || APP_CODES.has(code));
}
