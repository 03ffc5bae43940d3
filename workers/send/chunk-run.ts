import type { Job } from 'bullmq';
import type { Claim } from '../../src/batch/ledger/settlement.ts';
import type { Ledger } from '../../src/batch/ledger/ledger.ts';
import { encodePayload, openPayload } from '../../src/batch/payload/payload.ts';
import type { PayloadKey } from '../../src/batch/payload/payload-key.ts';
import { allFailed, type Settlement } from '../../src/batch/ledger/settlement.ts';
import type { ChunkJobData } from '../../src/contracts/chunk-job.ts';
import type { DeliveryPolicy } from '../../src/contracts/delivery.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { Passage } from '../../src/fleet/hold/hold-gate.ts';
import type { Permit } from '../../src/fleet/rate-limit/permit-queue.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { attemptOnce, type Attempted, type AttemptContext } from './attempt.ts';
import { bisect, shouldBisect } from './bisect.ts';
import { settlementOf } from './chunk-settlement.ts';
import type { Cancellation } from '../../src/async/cancellation.ts';
import { detailOf } from './notice-processor.ts';
import type { JobLockGuard } from '../queue/job-lock-guard.ts';
import { settleWithRetry } from '../../src/async/settle-with-retry.ts';
import { requeue, applyOutcome } from './disposition.ts';

/** What one run of a chunk's job needs; a worker process composes it once. */
export interface ChunkContext extends AttemptContext {
  readonly lockGuard: Pick<JobLockGuard, 'guard'>;
  /** Aborted when the worker stops: what has not been sent goes back. */
  readonly stopping: AbortSignal;
  readonly service: Pick<ServiceClient, 'sendBytes'>;
  readonly ledger: Pick<Ledger, 'claim' | 'settle'>;
  /** Keys that may have sealed a payload. */
  readonly payloadKeys: readonly PayloadKey[];
  /** Seals the payload of what goes back; stored as it is without one. */
  readonly sealWith: PayloadKey | undefined;
  /** Key of a job's lock in BullMQ, by the job's id. */
  readonly lockKey: (jobId: string) => string;
}

/** What a chunk's job ends with; the ledger knows the rest. */
export interface ChunkResult {
  readonly outcome: string;
}

/** A chunk from its claim to its settlement. */
export class ChunkRun {
  readonly #job: Job;
  readonly #data: ChunkJobData;
  readonly #nonce: string;
  readonly #claim: Extract<Claim, { kind: 'send' }>;
  readonly #owned: () => boolean;
  readonly #abort: Cancellation;
  readonly #parts: ChunkContext;
  readonly #frame: Readonly<Record<string, unknown>>;
  readonly #delivery: DeliveryPolicy;

  constructor(
    job: Job,
    data: ChunkJobData,
    nonce: string,
    claim: Extract<Claim, { kind: 'send' }>,
    owned: () => boolean,
    abort: Cancellation,
    parts: ChunkContext,
  ) {
    this.#job = job;
    this.#data = data;
    this.#nonce = nonce;
    this.#claim = claim;
    this.#owned = owned;
    this.#abort = abort;
    this.#parts = parts;
    this.#frame = JSON.parse(claim.frame) as Record<string, unknown>;
    this.#delivery = claim.delivery;
  }

  /** @param slot of the pace, for the first request */
  async finish(
    lockToken: string | undefined,
    passage: Passage,
    slot: Permit,
  ): Promise<ChunkResult> {
    const { size, payload, bisect: bisects } = this.#claim;
    const contacts = await this.#open(payload);
    if (contacts === undefined) {
      await this.#parts.gate.leave(undefined, passage);
      await this.#settle(allFailed(size, 'rejected', 'PAYLOAD_UNREADABLE', ''));
      return { outcome: 'rejected' };
    }
    const first = await this.#send(contacts, size, passage.probe !== undefined, slot);
    await this.#parts.gate.leave(first.outcome, passage);
    const detail = detailOf(first.answer);
    if (
      first.outcome?.kind === 'rejected' &&
      bisects &&
      !this.#claim.possiblySent &&
      shouldBisect(size, first.answer?.status)
    ) {
      return this.#bisect(lockToken, contacts, { code: first.outcome.code, detail });
    }
    const { outcome } = first;
    await this.#settle(settlementOf(outcome, size, this.#delivery, this.#lastAttempt(), detail));
    return this.#end(lockToken, outcome, detail);
  }

  async #bisect(
    lockToken: string | undefined,
    bytes: Buffer,
    rejected: { code: string; detail: string },
  ): Promise<ChunkResult> {
    const { settlement, ended } = await bisect(
      JSON.parse(bytes.toString()) as readonly unknown[],
      rejected,
      this.#delivery,
      async (some) => {
        const sent = await this.#send(Buffer.from(JSON.stringify(some)), some.length, false);
        if (sent.outcome?.kind === 'hold') {
          await this.#parts.gate.leave(sent.outcome, NO_PROBE);
        }
        return {
          outcome: sent.outcome,
          status: sent.answer?.status,
          detail: detailOf(sent.answer),
        };
      },
      (some) => encodePayload(JSON.stringify(some), this.#parts.sealWith),
    );
    await this.#settle(settlement);
    if (settlement.rest === undefined) return { outcome: 'bisected' };
    return this.#end(lockToken, ended, '');
  }

  async #open(payload: Buffer): Promise<Buffer | undefined> {
    try {
      return await openPayload(payload, this.#parts.payloadKeys);
    } catch (error) {
      this.#parts.log.trouble('payload', error);
      return undefined;
    }
  }

  async #send(contacts: Buffer, size: number, probe: boolean, slot?: Permit): Promise<Attempted> {
    const { service, log } = this.#parts;
    const line = log.begin(this.#job);
    const attempted = await attemptOnce(
      {
        send: (tokens, call) => service.sendBytes(this.#frame, contacts, tokens, call),
        ownConnection: this.#delivery === 'at-most-once',
        owned: this.#owned,
        cancel: this.#abort,
        permit: slot,
      },
      this.#parts,
    );
    const { batch, chunk } = this.#data;
    line.end(attempted.outcome, attempted.answer, { batch, chunk, contacts: size, probe });
    return attempted;
  }

  /** The outcome is kept in memory until Redis has heard it. */
  #settle(settlement: Settlement): Promise<void> {
    const { ledger, log } = this.#parts;
    const { batch, chunk } = this.#data;
    return settleWithRetry(
      () => ledger.settle(batch, chunk, this.#nonce, settlement),
      (error) => log.trouble('settle', error),
    );
  }

  /** Ends the job: done where the ledger has the last word, else as {@link applyOutcome} says. */
  async #end(
    lockToken: string | undefined,
    outcome: Outcome | undefined,
    detail: string,
  ): Promise<ChunkResult> {
    if (outcome === undefined) requeue();
    const over =
      outcome.kind === 'rejected' ||
      (outcome.kind === 'unknown' && this.#delivery === 'at-most-once') ||
      ((outcome.kind === 'unknown' || (outcome.kind === 'retry' && outcome.counted)) &&
        this.#lastAttempt());
    if (over) return { outcome: outcome.kind };
    return applyOutcome(this.#job, lockToken, outcome, detail);
  }

  #lastAttempt(): boolean {
    return this.#job.attemptsMade + 1 >= (this.#job.opts.attempts ?? 1);
  }
}

const nothing = () => Promise.resolve();

/** Requests of a bisection are no probes. */
const NO_PROBE: Passage = {
  probe: undefined,
  succeeded: nothing,
  undecided: nothing,
  abandoned: nothing,
};
