import { randomBytes } from 'node:crypto';
import { pause } from '../../../src/async/cancellation.ts';
import { settleWithRetry } from '../../../src/async/settle-with-retry.ts';
import type { Ledger } from '../../../src/batch/ledger/ledger.ts';
import {
  allBack,
  allFailed,
  type Claim,
  type Settlement,
} from '../../../src/batch/ledger/settlement.ts';
import { encodePayload, openChunk } from '../../../src/payload/chunk-payload.ts';
import { batchSeal, type Seal, type Sealing } from '../../../src/payload/seal.ts';
import type { CancelSignal } from '../../../src/contracts/cancel-signal.ts';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import {
  attemptsEndedUnknown,
  possiblySentAttempts,
  withPossiblySentMark,
  withTraceIds,
} from '../../../src/contracts/possibly-sent.ts';
import type { Passage } from '../../../src/fleet/hold/passage.ts';
import type { Permit } from '../../../src/fleet/rate-limit/permit-queue.ts';
import type { SendAnswer } from '../../../src/service/response/send-answer.ts';
import type { JobLockGuard } from '../../queue/job-lock-guard.ts';
import {
  ChunkRequests,
  type ChunkRequestContext,
  type ChunkRun,
  type SendClaim,
} from './chunk-requests.ts';
import { bisect, halves, isSettled, settlementOf } from './chunk-settlement.ts';
import {
  endOfSorted,
  settlementOfSorted,
  sortByResult,
  type SortedContacts,
} from '../contact-results.ts';
import { applyOutcome, delayJob, detailOf, requeue } from '../disposition.ts';
import { returnReasonOf, type JobReturns, type ReturnReason } from '../job-returns.ts';
import { shouldSplit } from '../should-split.ts';

/** What the jobs of chunks need; a worker process composes it once. */
export interface ChunkContext extends ChunkRequestContext {
  readonly lockGuard: Pick<JobLockGuard, 'guard'>;
  /** Aborted when the worker stops: what has not been sent is requeued. */
  readonly stopping: CancelSignal;
  readonly ledger: Pick<Ledger, 'claim' | 'halve' | 'historyOf' | 'mayContinue' | 'settle'>;
  readonly returns: Pick<JobReturns, 'returnJob'>;
  readonly sealing: Sealing;
  /** The Redis key of a job's lock in BullMQ. */
  readonly lockKey: (jobId: string) => string;
}

/** The result of a chunk's job; the ledger has the rest. */
export interface ChunkResult {
  readonly outcome: string;
}

/** Pause between two tries of a claim that Redis did not answer. */
const CLAIM_RETRY_MS = 200;

/** Delay of a refused chunk that is not halved before other halves are decided. */
const HALVE_LATER_MS = 5_000;

/** A chunk from its claim to its settlement. */
export class ChunkAttempt {
  readonly #options: ChunkRun;
  readonly #context: ChunkContext;
  /** Names this claim. */
  readonly #nonce = `${process.pid}-${randomBytes(9).toString('base64url')}`;
  /** Monotonic time at which the deadline of the chunk passes. */
  #expiresAt = Infinity;

  constructor(options: ChunkRun, context: ChunkContext) {
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
    const { ledger, lockKey, log, unknownResends } = this.#context;
    const lock = { key: lockKey(locked.job.id ?? ''), token: locked.lockToken ?? '' };
    for (let tries = 0; owned() && !cancel.aborted; tries++) {
      try {
        const askedAt = performance.now();
        const { batch, chunk } = data;
        const claim = await ledger.claim(batch, chunk, this.#nonce, lock, unknownResends);
        if (claim.kind === 'send') this.#expiresAt = askedAt + (claim.msToDeadline ?? Infinity);
        return claim;
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
    const opened = await this.#open(claim);
    if (typeof opened === 'string') {
      await gate.leave({ outcome: undefined }, passage, '');
      if (opened !== 'unreadable') {
        const release = () => this.#settle(allBack(size, false));
        await this.#context.returns.returnJob(this.#options.locked, opened, release);
      }
      await this.#settle(allFailed(size, 'rejected', 'PAYLOAD_UNREADABLE', ''));
      return { outcome: 'rejected' };
    }
    const { frame, contacts } = opened;
    const owned = () => this.#options.owned() && performance.now() < this.#expiresAt;
    const run = { ...this.#options, owned };
    const requests = new ChunkRequests(run, { ...claim, frame }, this.#nonce, this.#context);
    const { outcome, answer } = await requests.send(contacts, size, passage, permit);
    const status = answer?.status;
    const detail = detailOf(answer);
    const contactsOf = () => listOf(contacts, size);
    const encode = (some: readonly unknown[]) => encodePayload(JSON.stringify(some), this.#seal);
    const end = (ended: Outcome | undefined, endDetail: string, of: SendAnswer | undefined) =>
      this.#end(ended, delivery, endDetail, requests.traceIds(ended?.kind, of));
    const sorted = this.#sorted(contactsOf, answer, requests);
    if (outcome !== undefined && sorted !== undefined) {
      const settlement = await settlementOfSorted(sorted, encode);
      await this.#settle(settlement);
      if (settlement.rest === undefined) return { outcome: outcome.kind };
      return end(endOfSorted(sorted, outcome), detail, answer);
    }
    const { lastAttempt } = this;
    let isOwn = outcome?.kind === 'rejected' && outcome.own === true;
    if (
      outcome?.kind === 'rejected' &&
      !isOwn &&
      shouldSplit({ kind: 'chunk', size, status, bisect: mayBisect })
    ) {
      const list = contactsOf();
      if (list === undefined) {
        await this.#settle(allFailed(size, 'rejected', 'PAYLOAD_UNREADABLE', detail));
        return { outcome: outcome.kind };
      }
      let endedBy: SendAnswer | undefined;
      const bisected = await bisect({
        contacts: list,
        rejected: {
          code: outcome.code,
          detail: withTraceIds(detail, requests.traceIds('rejected')),
        },
        delivery,
        lastAttempt,
        send: async (some) => {
          const part = Buffer.from(JSON.stringify(some));
          const { outcome: ofPart, answer: of } = await requests.sendPart(part, some.length);
          endedBy = of;
          return {
            outcome: ofPart,
            status: of?.status,
            detail: withTraceIds(detailOf(of), requests.traceIds(ofPart?.kind, of)),
            sorted: this.#sorted(() => some, of, requests),
          };
        },
        encode,
      });
      if (bisected !== 'halve') {
        const { settlement, ended } = bisected;
        await this.#settle(settlement);
        return settlement.rest === undefined ? { outcome: 'bisected' } : end(ended, '', endedBy);
      }
      isOwn = true;
    }
    const halved = isOwn && mayBisect ? await this.#halve(contactsOf(), encode) : 'whole';
    if (halved === 'later') {
      await this.#settle(allBack(size, false));
      return delayJob(this.#options.locked, HALVE_LATER_MS, 'other halves first');
    }
    if (halved !== 'whole') return { outcome: 'halved' };
    const kept = withTraceIds(detail, requests.traceIds(outcome?.kind, answer));
    await this.#settle(settlementOf({ outcome, size, delivery, lastAttempt, detail: kept }));
    return end(outcome, detail, answer);
  }

  get lastAttempt(): boolean {
    const { attemptsMade, opts } = this.#options.locked.job;
    return attemptsMade + 1 >= (opts.attempts ?? 1);
  }

  /** The contacts of a request by their results, if the answer has any. */
  #sorted(
    contactsOf: () => readonly unknown[] | undefined,
    answer: SendAnswer | undefined,
    requests: ChunkRequests,
  ): SortedContacts<unknown> | undefined {
    if (answer?.results === undefined) return undefined;
    const contacts = contactsOf();
    if (contacts === undefined) return undefined;
    const { results } = answer;
    const { mayResend } = requests;
    const { lastAttempt } = this;
    const sorted = sortByResult({ contacts, results, mayResend, lastAttempt });
    const failed = sorted.failed.map((part) => ({
      ...part,
      message: withTraceIds(part.message, requests.traceIds(part.state, answer)),
    }));
    return { ...sorted, failed };
  }

  get #seal(): Seal {
    return batchSeal(this.#context.sealing, this.#options.data.batch);
  }

  async #open(
    claim: SendClaim,
  ): Promise<Awaited<ReturnType<typeof openChunk>> | ReturnReason | 'unreadable'> {
    try {
      return await openChunk(claim, this.#options.data.batch, this.#context.sealing);
    } catch (error) {
      const reason = returnReasonOf(error);
      if (reason !== undefined) return reason;
      this.#context.log.trouble('payload', error);
      return 'unreadable';
    }
  }

  async #settle(settlement: Settlement): Promise<void> {
    const { ledger, log } = this.#context;
    const { batch, chunk } = this.#options.data;
    await settleWithRetry(
      () => ledger.settle(batch, chunk, this.#nonce, settlement),
      (error) => log.trouble('settle', error),
    );
  }

  /**
   * Replaces the chunk by its halves, each with a job and attempts of its own: the service refuses it because of one of its
   * contacts, or of a few.
   *
   * @returns as {@link Ledger.halve}
   */
  async #halve(
    contacts: readonly unknown[] | undefined,
    encode: (contacts: readonly unknown[]) => Promise<Buffer>,
  ): ReturnType<Ledger['halve']> {
    if (contacts === undefined || contacts.length < 2) return 'whole';
    const { ledger, log } = this.#context;
    const { batch, chunk } = this.#options.data;
    const [first, second] = halves(contacts);
    const payloads = [await encode(first), await encode(second)] as const;
    return settleWithRetry(
      () => ledger.halve(batch, chunk, this.#nonce, first.length, payloads),
      (error) => log.trouble('settle', error),
    );
  }

  /** Ends the job: done where the ledger has its final state, otherwise by {@link applyOutcome}. */
  async #end(
    outcome: Outcome | undefined,
    delivery: SendClaim['delivery'],
    detail: string,
    traceIds: string[],
  ): Promise<ChunkResult> {
    if (outcome === undefined) requeue();
    if (isSettled(outcome, delivery, this.lastAttempt)) return { outcome: outcome.kind };
    const { locked } = this.#options;
    const { job } = locked;
    const endedUnknown = outcome.kind === 'unknown' ? 1 : 0;
    return applyOutcome(locked, outcome, {
      detail: withPossiblySentMark(detail, attemptsEndedUnknown(job) + endedUnknown, traceIds),
      possiblySent: possiblySentAttempts(job) + endedUnknown,
    });
  }
}

/**
 * The contacts of a payload, to be recorded one by one. Undefined where they are not the list that the ledger counts:
 * such a payload was not made by this program, and its parts would not add up to the chunk.
 */
function listOf(json: Buffer, size: number): readonly unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(json.toString());
    return Array.isArray(list) && list.length === size ? list : undefined;
  } catch {
    return undefined;
  }
}
