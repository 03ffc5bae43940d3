import type { CancelSignal } from '../../src/contracts/cancel-signal.ts';
import { NoticeQueueError, TokenRefusedError } from '../../src/contracts/errors.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { Refusal, TokenSource } from '../../src/contracts/token.ts';
import type { LaneRateLimit } from '../../src/fleet/rate-limit/rate-limiter.ts';
import type { Permit } from '../../src/fleet/rate-limit/permit-queue.ts';
import type { SendCallOptions } from '../../src/service/client.ts';
import { decideOutcome } from '../../src/service/outcome-table.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';
import type { AttemptLog } from './attempt-log.ts';
import { outcomeOfRequest } from './contact-results.ts';
import { AttemptGuard, NotStarted } from './request-guard.ts';
import type { Attempted, SendGate } from './send-gate.ts';

/** The shared token, as far as an attempt needs it. */
export interface AttemptTokens extends TokenSource {
  renewalHelped(refusal: Refusal): Promise<void>;
}

/** What attempts need; a worker process composes it once. */
export interface AttemptContext {
  readonly tokens: AttemptTokens;
  readonly gate: Pick<SendGate, 'enter' | 'leave'>;
  /** The rate limit of the account, for the lane of the attempt. */
  readonly rateLimit: Pick<LaneRateLimit, 'take'>;
  readonly log: AttemptLog;
  /** SEND_DEADLINE_MS */
  readonly sendDeadlineMs: number;
}

/** One attempt: its send call, and what allows its requests. */
export interface AttemptOptions {
  /** Id of the job, or of one of them. */
  readonly job: string;
  /** Makes the send call, by `send` or `sendBytes` of the service client. */
  readonly send: (tokens: TokenSource, options: SendCallOptions) => Promise<SendAnswer>;
  /** Each request gets a connection of its own. */
  readonly ownConnection: boolean;
  /** Aborted when the worker stops or the lock of the job is lost: nothing is sent from then on. */
  readonly cancel: CancelSignal;
  /** Whether the locks of the jobs are surely ours. */
  readonly owned: () => boolean;
  /** Called last before each request; false forbids it. */
  readonly recordIntents?: (() => Promise<boolean>) | undefined;
  /** The permit for the first request, where it was taken before; used or released here. */
  readonly permit?: Permit | undefined;
}

const UNSENDABLE: Outcome = { kind: 'retry', code: 'INTERNAL_ERROR', counted: true };

/** Makes one attempt behind the gate: takes a permit of the rate limit, sends, decides the outcome. */
export async function attemptOnce(
  { send, ownConnection, cancel, owned, recordIntents, permit: taken }: AttemptOptions,
  { tokens, rateLimit, log, sendDeadlineMs: deadlineMs }: AttemptContext,
): Promise<Attempted> {
  const asked = taken ?? rateLimit.take(cancel);
  const permit = asked instanceof Promise ? await asked : asked;
  if (permit === undefined) return { outcome: undefined };
  const guard = new AttemptGuard({ cancel, owned, rateLimit, permit, recordIntents });
  try {
    const answer = await send(tokens, { deadlineMs, ownConnection, guard });
    if (guard.wasStopped) {
      return { outcome: undefined, answer: answer.refused.length > 0 ? answer : undefined };
    }
    const outcome = decideOutcome(answer);
    const [first, second] = answer.refused;
    const isAccepted = outcomeOfRequest(outcome, answer.results)?.kind === 'accepted';
    if (
      first !== undefined &&
      second === undefined &&
      isAccepted &&
      answer.tokenId !== first.tokenId
    ) {
      await tokens.renewalHelped(first).catch((error: unknown) => log.trouble('token', error));
    }
    return { outcome, answer, requestedAt: guard.requestedAt };
  } catch (error) {
    const { refused: answer } = guard;
    const isOurs = error instanceof NoticeQueueError;
    // A stop explains an error only where nothing can have been sent.
    const isStopped = cancel.aborted && (isOurs || !guard.allowed);
    if (isStopped || error instanceof NotStarted) return { outcome: undefined, answer };
    if (!isOurs) {
      log.trouble('attempt', error);
      return guard.allowed
        ? { outcome: { kind: 'unknown', code: 'INTERNAL_ERROR' }, answer }
        : { outcome: UNSENDABLE, isUnsendable: true };
    }
    return { outcome: outcomeOfTokenError(error), answer };
  } finally {
    guard.release();
  }
}

/** What a failed wait for a token means: nothing was sent. */
function outcomeOfTokenError(error: NoticeQueueError): Outcome {
  if (error instanceof TokenRefusedError) {
    const { hold, refusalCode: code, retryInMs, scope } = error;
    const refused = { kind: 'hold', hold, code, always: true } as const;
    const until = { forMs: Math.max(1, retryInMs) };
    if (hold !== 'credentials') return { ...refused, ...until };
    return { ...refused, ...until, caller: scope === 'all' ? 'refused' : 'waits' };
  }
  return { kind: 'retry', code: error.code, counted: false };
}
