import { randomBytes } from 'node:crypto';
import { pause } from '../../src/async/cancellation.ts';
import { settleWithRetry } from '../../src/async/settle-with-retry.ts';
import type { Ledger } from '../../src/batch/ledger/ledger.ts';
import {
  allBack,
  allFailed,
  type Claim,
  type Settlement,
} from '../../src/batch/ledger/settlement.ts';
import { encodePayload, openPayload } from '../../src/payload/chunk-payload.ts';
import { batchSeal, type Seal, type Sealing } from '../../src/payload/seal.ts';
import type { CancelSignal } from '../../src/contracts/cancel-signal.ts';
import type { ChunkJobData } from '../../src/contracts/chunk-job.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import {
  attemptsEndedUnknown,
  possiblySentAttempts,
  possiblySentTraceIds,
  withPossiblySentMark,
  withTraceIds,
} from '../../src/contracts/possibly-sent.ts';
import { OPEN, type Passage } from '../../src/fleet/hold/passage.ts';
import type { Permit } from '../../src/fleet/rate-limit/permit-queue.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';
import type { JobLockGuard } from '../queue/job-lock-guard.ts';
import { attemptOnce, type AttemptContext } from './attempt.ts';
import { outcomeOfRequest, settlementOfResults } from './contact-results.ts';
import { bisect, isSettled, settlementOf } from './chunk-settlement.ts';
import { applyOutcome, detailOf, requeue } from './disposition.ts';
import type { LockedJob } from './disposition.ts';
import { returnReasonOf, type JobReturns, type ReturnReason } from './job-returns.ts';
import type { Attempted } from './send-gate.ts';
import { shouldSplit } from './should-split.ts';

/** What the jobs of chunks need; a worker process composes it once. */
export interface ChunkContext extends AttemptContext {
  readonly lockGuard: Pick<JobLockGuard, 'guard'>;
  /** Aborted when the worker stops: what has not been sent is requeued. */
  readonly stopping: CancelSignal;
  readonly service: Pick<ServiceClient, 'sendBytes'>;
  readonly ledger: Pick<Ledger, 'claim' | 'historyOf' | 'settle'>;
  readonly returns: Pick<JobReturns, 'returnJob'>;
  readonly sealing: Sealing;
  /** UNKNOWN_RESENDS */
  readonly unknownResends: number;
  /** The Redis key of a job's lock in BullMQ. */
  readonly lockKey: (jobId: string) => string;
}

/** The result of a chunk's job; the ledger has the rest. */
export interface ChunkResult {
  readonly outcome: string;
}

/** Pause between two tries of a claim that Redis did not answer. */
const CLAIM_RETRY_MS = 200;

interface ChunkAttemptOptions {
  readonly locked: LockedJob;
  readonly data: ChunkJobData;
  /** Whether the lock of the job is surely ours. */
  readonly owned: () => boolean;
  readonly cancel: CancelSignal;
}

type SendClaim = Extract<Claim, { kind: 'send' }>;

/** A chunk from its claim to its settlement. */
export class ChunkAttempt {
  readonly #options: ChunkAttemptOptions;
  readonly #context: ChunkContext;
  /** Names this claim. */
  readonly #nonce = `${process.pid}-${randomBytes(9).toString('base64url')}`;

  constructor(options: ChunkAttemptOptions, context: ChunkContext) {
    this.#options = options;
    this.#context = context;
  }

  /**
   * Claims the chunk. A claim whose answer was lost may exist, so it is repeated with the same nonce,
   * as long as the job is surely ours.
   *
   * @returns undefined when Redis did not answer in that time: nothing may be sent
   */
  async claim(): Promise<Claim | undefined> {
    const { locked, data, owned, cancel } = this.#options;
    const { ledger, lockKey, log } = this.#context;
    const lock = { key: lockKey(locked.job.id ?? ''), token: locked.lockToken ?? '' };
    for (let tries = 0; owned() && !cancel.aborted; tries++) {
      try {
        return await ledger.claim(data.batch, data.chunk, this.#nonce, lock);
      } catch (error) {
        if (tries === 0) log.trouble('claim', error);
      }
      await pause(CLAIM_RETRY_MS);
    }
    return undefined;
  }

  /** Sends a claimed chunk and settles it. @param permit for the first request */
  async finish(claim: SendClaim, passage: Passage, permit: Permit): Promise<ChunkResult> {
    const { gate } = this.#context;
    const { size, delivery, bisect: mayBisect } = claim;
    const possiblySent = claim.possiblySent > 0;
    const contacts = await this.#open(claim.payload);
    if (!Buffer.isBuffer(contacts)) {
      await gate.leave({ outcome: undefined }, passage, '');
      if (contacts !== 'unreadable') {
        await this.#settle(allBack(size, false));
        await this.#context.returns.returnJob(this.#options.locked, contacts);
      }
      await this.#settle(allFailed(size, 'rejected', 'PAYLOAD_UNREADABLE', ''));
      return { outcome: 'rejected' };
    }
    const frame = JSON.parse(claim.frame) as Readonly<Record<string, unknown>>;
    const send = (part: Buffer, count: number, first?: { passage: Passage; permit: Permit }) =>
      this.#send({
        frame,
        delivery,
        contacts: part,
        size: count,
        possiblySent: claim.possiblySent,
        ...first,
      });

    const { outcome, answer } = await send(contacts, size, { passage, permit });
    const { status, results } = answer ?? {};
    const detail = detailOf(answer);
    if (outcome !== undefined && results !== undefined) {
      const settlement = await settlementOfResults({
        contacts: JSON.parse(contacts.toString()) as readonly unknown[],
        results,
        possiblySent,
        mayResend: delivery === 'at-least-once' && this.#hasResends(claim),
        lastAttempt: this.lastAttempt,
        encode: (some) => encodePayload(JSON.stringify(some), this.#seal),
      });
      const failed = settlement.failed.map((part) => ({
        ...part,
        message: withTraceIds(part.message, this.#traceIds(part.state, answer)),
      }));
      await this.#settle({ ...settlement, failed });
      if (settlement.rest === undefined) return { outcome: outcome.kind };
      const code = 'code' in outcome ? outcome.code : '';
      const ended: Outcome = settlement.rest.possiblySent
        ? { kind: 'unknown', code }
        : { kind: 'retry', code, counted: true };
      return this.#end(ended, claim, detail, answer);
    }
    if (
      outcome?.kind === 'rejected' &&
      shouldSplit({ kind: 'chunk', size, status, bisect: mayBisect })
    ) {
      let endedBy: SendAnswer | undefined;
      const { settlement, ended } = await bisect({
        contacts: JSON.parse(contacts.toString()) as readonly unknown[],
        rejected: { code: outcome.code, detail: withTraceIds(detail, this.#traceIds('rejected')) },
        delivery,
        possiblySent,
        lastAttempt: this.lastAttempt,
        send: async (some) => {
          const { outcome: part, answer: of } = await send(
            Buffer.from(JSON.stringify(some)),
            some.length,
          );
          endedBy = of;
          const message = withTraceIds(detailOf(of), this.#traceIds(part?.kind, of));
          return { outcome: part, status: of?.status, detail: message };
        },
        encode: (some) => encodePayload(JSON.stringify(some), this.#seal),
      });
      await this.#settle(settlement);
      if (settlement.rest === undefined) return { outcome: 'bisected' };
      return this.#end(ended, claim, '', endedBy);
    }
    const { lastAttempt } = this;
    const kept = withTraceIds(detail, this.#traceIds(outcome?.kind, answer));
    await this.#settle(settlementOf({ outcome, size, delivery, lastAttempt, detail: kept }));
    return this.#end(outcome, claim, detail, answer);
  }

  get lastAttempt(): boolean {
    const { attemptsMade, opts } = this.#options.locked.job;
    return attemptsMade + 1 >= (opts.attempts ?? 1);
  }

  /**
   * The trace ids of the service for the attempts of this job that may have been accepted, oldest first; that of
   * this attempt is one of them if its outcome is unknown.
   */
  #traceIds(outcome: string | undefined, answer?: SendAnswer): string[] {
    const own = outcome === 'unknown' && answer?.traceId !== undefined ? [answer.traceId] : [];
    return [...possiblySentTraceIds(this.#options.locked.job), ...own];
  }

  get #seal(): Seal {
    return batchSeal(this.#context.sealing, this.#options.data.batch);
  }

  async #open(payload: Buffer): Promise<Buffer | ReturnReason | 'unreadable'> {
    try {
      return await openPayload(payload, this.#seal);
    } catch (error) {
      const reason = returnReasonOf(error);
      if (reason !== undefined) return reason;
      this.#context.log.trouble('payload', error);
      return 'unreadable';
    }
  }

  async #send({
    frame,
    delivery,
    contacts,
    size,
    possiblySent,
    passage = OPEN,
    permit,
  }: Pick<SendClaim, 'delivery' | 'size' | 'possiblySent'> & {
    readonly frame: Readonly<Record<string, unknown>>;
    readonly contacts: Buffer;
    /** Requests of a bisection are no probes. */
    readonly passage?: Passage;
    readonly permit?: Permit;
  }): Promise<Attempted> {
    const { service, log, gate } = this.#context;
    const { locked, data, owned, cancel } = this.#options;
    const job = locked.job.id ?? '';
    const line = log.begin(locked.job);
    const attempted = await attemptOnce(
      {
        job,
        send: (tokens, options) => service.sendBytes(frame, contacts, tokens, options),
        // A kept connection that has died says nothing about the service.
        ownConnection: delivery === 'at-most-once' || passage.probe !== undefined,
        owned,
        cancel,
        permit,
      },
      this.#context,
    );
    const ofRequest = outcomeOfRequest(attempted.outcome, attempted.answer?.results);
    const left = await gate.leave({ ...attempted, outcome: ofRequest }, passage, job);
    let outcome = attempted.answer?.results === undefined ? left : attempted.outcome;
    if (outcome?.kind === 'unknown' && !this.#hasResends({ possiblySent })) {
      outcome = { ...outcome, final: true };
    }
    const { batch, chunk } = data;
    const { answer } = attempted;
    line.end(outcome, answer, {
      batch,
      chunk,
      contacts: size,
      probe: passage.probe !== undefined,
      possiblySent: this.#possiblySent({ possiblySent }),
    });
    return { outcome, answer };
  }

  /**
   * How many attempts the service may have accepted before this one. The ledger also knows of earlier jobs of the
   * chunk: a batch that is resumed gets new ones.
   */
  #possiblySent({ possiblySent }: Pick<SendClaim, 'possiblySent'>): number {
    const { job } = this.#options.locked;
    return possiblySent > 0 ? Math.max(possiblySent, possiblySentAttempts(job)) : 0;
  }

  #hasResends(claim: Pick<SendClaim, 'possiblySent'>): boolean {
    return this.#possiblySent(claim) < this.#context.unknownResends;
  }

  async #settle(settlement: Settlement): Promise<void> {
    const { ledger, log } = this.#context;
    const { batch, chunk } = this.#options.data;
    await settleWithRetry(
      () => ledger.settle(batch, chunk, this.#nonce, settlement),
      (error) => log.trouble('settle', error),
    );
  }

  /** Ends the job: done where the ledger has its final state, otherwise by {@link applyOutcome}. */
  async #end(
    outcome: Outcome | undefined,
    { delivery }: SendClaim,
    detail: string,
    answer?: SendAnswer,
  ): Promise<ChunkResult> {
    if (outcome === undefined) requeue();
    if (isSettled(outcome, delivery, this.lastAttempt)) return { outcome: outcome.kind };
    const { locked } = this.#options;
    const { job } = locked;
    const endedUnknown = outcome.kind === 'unknown' ? 1 : 0;
    return applyOutcome(locked, outcome, {
      detail: withPossiblySentMark(
        detail,
        attemptsEndedUnknown(job) + endedUnknown,
        this.#traceIds(outcome.kind, answer),
      ),
      possiblySent: possiblySentAttempts(job) + endedUnknown,
    });
  }
}
