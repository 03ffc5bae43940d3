import type { CancelSignal } from '../../src/contracts/cancel-signal.ts';
import { NoticeQueueError, TokenRefusedError } from '../../src/contracts/errors.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { RefusalStatus, Token, TokenSource } from '../../src/contracts/token.ts';
import { isProgramError } from '../../src/redis/failure.ts';
import type { LaneRateLimit } from '../../src/fleet/rate-limit/rate-limiter.ts';
import type { Permit } from '../../src/fleet/rate-limit/permit-queue.ts';
import type { SendCallOptions } from '../../src/service/client.ts';
import { decideOutcome, needsJudgement } from '../../src/service/outcome-table.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';
import type { AttemptLog } from './attempt-log.ts';
import { AttemptGuard, NotStarted } from './request-guard.ts';
import type { SendGate } from './send-gate.ts';

/** The shared token, as far as an attempt needs it. */
export interface AttemptTokens extends TokenSource {
  accepted(token: Pick<Token, 'id'>): void;
  judge(refused: Pick<Token, 'id'>, status: RefusalStatus): Promise<'again' | 'refused'>;
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

/** What is known after an attempt. */
export interface Attempted {
  /** Undefined when nothing was sent and no notice is to blame. */
  readonly outcome: Outcome | undefined;
  readonly answer?: SendAnswer;
  /** No request could be made of the notices because of an error in this program. */
  readonly isUnsendable?: true;
}

const UNSENDABLE: Outcome = { kind: 'retry', code: 'INTERNAL_ERROR', counted: true };

/** Makes one attempt behind the gate: takes a permit of the rate limit, sends, decides the outcome. */
export async function attemptOnce(
  { send, ownConnection, cancel, owned, recordIntents, permit: taken }: AttemptOptions,
  { tokens, rateLimit, log, sendDeadlineMs: deadlineMs }: AttemptContext,
): Promise<Attempted> {
  const permit = taken ?? (await rateLimit.take(cancel));
  if (permit === undefined) return { outcome: undefined };
  const guard = new AttemptGuard({ cancel, owned, rateLimit, permit, recordIntents });
  try {
    const answer = await send(tokens, { deadlineMs, ownConnection, guard });
    const outcome = decideOutcome(answer, await judgementOf(answer, tokens));
    const { tokenId: id } = answer;
    if (outcome.kind === 'accepted' && id !== undefined) tokens.accepted({ id });
    return { outcome, answer };
  } catch (error) {
    if (cancel.aborted || error instanceof NotStarted) return { outcome: undefined };
    if (isProgramError(error)) {
      log.trouble('attempt', error);
      return guard.allowed
        ? { outcome: { kind: 'unknown', code: 'INTERNAL_ERROR' } }
        : { outcome: UNSENDABLE, isUnsendable: true };
    }
    return { outcome: outcomeOfTokenError(error) };
  } finally {
    guard.release();
  }
}

/** Asks about a second refused token: only the shared token knows whether it worked for others. */
async function judgementOf(
  answer: SendAnswer,
  tokens: AttemptTokens,
): Promise<'again' | 'refused' | undefined> {
  const last = answer.refused.at(-1);
  if (!needsJudgement(answer) || last === undefined) return undefined;
  return tokens.judge({ id: last.tokenId }, last.status);
}

/** What a failed wait for a token means: nothing was sent. */
function outcomeOfTokenError(error: unknown): Outcome {
  if (error instanceof TokenRefusedError) {
    const { hold, refusalCode: code, retryInMs } = error;
    return { kind: 'hold', hold, code, forMs: Math.max(1, retryInMs) };
  }
  const code = error instanceof NoticeQueueError ? error.code : 'TOKEN_UNAVAILABLE';
  return { kind: 'retry', code, counted: false };
}
