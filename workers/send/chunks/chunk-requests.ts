import type { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { Claim } from '../../../src/batch/ledger/settlement.ts';
import type { CancelSignal } from '../../../src/contracts/cancel-signal.ts';
import type { ChunkJobData } from '../../../src/contracts/chunk-job.ts';
import {
  possiblySentAttempts,
  possiblySentTraceIds,
} from '../../../src/contracts/possibly-sent.ts';
import type { Passage } from '../../../src/fleet/hold/passage.ts';
import type { Permit } from '../../../src/fleet/rate-limit/permit-queue.ts';
import type { ServiceClient } from '../../../src/service/client.ts';
import type { SendAnswer } from '../../../src/service/response/send-answer.ts';
import { attemptOnce, type AttemptContext } from '../attempt.ts';
import { outcomeOfRequest } from '../contact-results.ts';
import type { LockedJob } from '../disposition.ts';
import type { Attempted } from '../send-gate.ts';

/** What the requests for a chunk need. */
export interface ChunkRequestContext extends AttemptContext {
  readonly service: Pick<ServiceClient, 'sendBytes'>;
  readonly ledger: Pick<Ledger, 'mayContinue'>;
  /** UNKNOWN_RESENDS */
  readonly unknownResends: number;
}

/** A run of the job of a chunk. */
export interface ChunkRun {
  readonly locked: LockedJob;
  readonly data: ChunkJobData;
  /** Whether the lock of the job is surely ours; for requests also whether its deadline has not passed. */
  readonly owned: () => boolean;
  readonly cancel: CancelSignal;
}

/** A claim that allows a chunk to be sent. */
export type SendClaim = Extract<Claim, { kind: 'send' }>;

/** The requests under one claim of a chunk: one, and those for its parts where it is bisected. */
export class ChunkRequests {
  readonly #run: ChunkRun;
  readonly #claim: SendClaim;
  readonly #nonce: string;
  readonly #context: ChunkRequestContext;
  readonly #frame: Readonly<Record<string, unknown>>;

  /** @param nonce names the claim */
  constructor(run: ChunkRun, claim: SendClaim, nonce: string, context: ChunkRequestContext) {
    this.#run = run;
    this.#claim = claim;
    this.#nonce = nonce;
    this.#context = context;
    this.#frame = JSON.parse(claim.frame) as Readonly<Record<string, unknown>>;
  }

  /** Whether contacts whose outcome is unknown may be sent again. */
  get mayResend(): boolean {
    return this.#claim.delivery === 'at-least-once' && this.#hasResends;
  }

  /**
   * The trace ids of the service for the attempts of this job that may have been accepted, oldest first; that of
   * this attempt is one of them if its outcome is unknown.
   */
  traceIds(outcome: string | undefined, answer?: SendAnswer): string[] {
    const own = outcome === 'unknown' && answer?.traceId !== undefined ? [answer.traceId] : [];
    return [...possiblySentTraceIds(this.#run.locked.job), ...own];
  }

  /**
   * Makes a request for a part of the chunk. Everything that allowed the first request is asked again, in the same
   * order: the gate, the rate limit, the ledger. A bisection takes many requests, and meanwhile the queue may be
   * held, and the batch paused or cancelled.
   *
   * @returns no outcome where the part may not be sent now
   */
  async sendPart(contacts: Buffer, size: number): Promise<Attempted> {
    const { gate, rateLimit } = this.#context;
    const { locked, cancel } = this.#run;
    const job = locked.job.id ?? '';
    const possiblySent = this.#possiblySent + (this.#claim.delivery === 'at-most-once' ? 1 : 0);
    const passage = await gate.enter({ job, possiblySent });
    if (passage === undefined || 'asideMs' in passage) return { outcome: undefined };
    const permit = await rateLimit.take(cancel);
    if (permit !== undefined && (await this.#mayContinue())) {
      return this.send(contacts, size, passage, permit);
    }
    permit?.release();
    await gate.leave({ outcome: undefined }, passage, job);
    return { outcome: undefined };
  }

  /** Makes a request, and places or lifts holds by its outcome. */
  async send(
    contacts: Buffer,
    size: number,
    passage: Passage,
    permit: Permit,
  ): Promise<Pick<Attempted, 'outcome' | 'answer'>> {
    const { service, log, gate } = this.#context;
    const { locked, data, owned, cancel } = this.#run;
    const job = locked.job.id ?? '';
    const line = log.begin(locked.job);
    const attempted = await attemptOnce(
      {
        job,
        send: (tokens, options) => service.sendBytes(this.#frame, contacts, tokens, options),
        // A kept connection that has died says nothing about the service.
        ownConnection: this.#claim.delivery === 'at-most-once' || passage.probe !== undefined,
        owned,
        cancel,
        permit,
      },
      this.#context,
    );
    const ofRequest = outcomeOfRequest(attempted.outcome, attempted.answer?.results);
    const left = await gate.leave({ ...attempted, outcome: ofRequest }, passage, job);
    let outcome = attempted.answer?.results === undefined ? left : attempted.outcome;
    if (outcome?.kind === 'unknown' && !this.#hasResends) outcome = { ...outcome, final: true };
    const { batch, chunk } = data;
    const { answer } = attempted;
    line.end(outcome, answer, {
      batch,
      chunk,
      contacts: size,
      probe: passage.probe !== undefined,
      possiblySent: this.#possiblySent,
    });
    return { outcome, answer };
  }

  /**
   * How many attempts the service may have accepted before this one. The ledger also knows of earlier jobs of the
   * chunk: a batch that is resumed gets new ones.
   */
  get #possiblySent(): number {
    const { possiblySent } = this.#claim;
    return possiblySent > 0
      ? Math.max(possiblySent, possiblySentAttempts(this.#run.locked.job))
      : 0;
  }

  get #hasResends(): boolean {
    return this.#possiblySent < this.#context.unknownResends;
  }

  async #mayContinue(): Promise<boolean> {
    const { ledger, log } = this.#context;
    const { batch, chunk } = this.#run.data;
    try {
      return await ledger.mayContinue(batch, chunk, this.#nonce);
    } catch (error) {
      log.trouble('continue', error);
      return false;
    }
  }
}
