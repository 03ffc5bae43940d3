import type { Outcome } from '../../src/contracts/outcome.ts';
import type { RefusalStatus, Token, TokenSource, Waiting } from '../../src/contracts/token.ts';
import { NoticeQueueError, TokenRefusedError } from '../../src/contracts/errors.ts';
import type { HoldGate, Passage } from '../../src/fleet/hold/hold-gate.ts';
import type { LaneRateLimit } from '../../src/fleet/rate-limit/rate-limiter.ts';
import type { Permit } from '../../src/fleet/rate-limit/permit-queue.ts';
import { decideOutcome, needsJudgement } from '../../src/service/outcome-table.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';
import type { AttemptLog } from './attempt-log.ts';
import { EitherCancellation, type Cancellation } from '../../src/async/cancellation.ts';

/** The token slot, as far as an attempt needs it. */
export interface AttemptTokens extends TokenSource {
  accepted(token: Token): void;
  judge(refused: Token, status: RefusalStatus): Promise<'again' | 'refused'>;
}

/** What an attempt needs beside what it sends. */
export interface AttemptContext {
  readonly tokens: AttemptTokens;
  readonly gate: Pick<HoldGate, 'enter' | 'place'>;
  /** The pace of the account, for the lane of the attempt. */
  readonly rateLimit: LaneRateLimit;
  readonly log: AttemptLog;
}

/** What is known after an attempt; no outcome means that nothing was sent and nobody is to blame. */
export interface Attempted {
  readonly outcome: Outcome | undefined;
  readonly answer?: SendAnswer;
}

/** Why an attempt ended before anything was sent, without blame. */
class NotStarted extends Error {}

/** Least wait after a 429, whatever its Retry-After says. */
const THROTTLED_MIN_MS = 1_000;

/**
 * Makes one attempt behind the gate: takes a slot of the pace, gets a token, sends, decides.
 *
 * A slot is for one request: the second request of an attempt takes another, and so does one whose
 * slot became too old while it waited for its token.
 *
 * Nothing is sent once `abort` is aborted or `owned` says that the job's lock may be lost: both are
 * asked right before each request, after every wait.
 *
 * @param send makes the send call with the token source it is given
 * @param begin asked last before each request; false makes none
 * @param taken the slot of the first request, where it was taken before; used up or given back here
 */
export async function attemptOnce(
  send: (tokens: TokenSource) => Promise<SendAnswer>,
  owned: () => boolean,
  abort: Cancellation,
  { tokens, rateLimit: pace }: AttemptContext,
  begin?: () => Promise<boolean>,
  taken?: Permit,
): Promise<Attempted> {
  let slot = taken ?? (await pace.take(abort));
  if (slot === undefined) return { outcome: undefined };
  let used: Token | undefined;
  // The service client hides what a token source throws, so it is noted here.
  let notStarted = false;
  const notStart = (): never => {
    notStarted = true;
    throw new NotStarted();
  };
  const mayStart = () => !abort.aborted && owned();
  const guarded = async (token: Token, until: Waiting): Promise<Token> => {
    if (!mayStart()) notStart();
    if (slot?.use() !== true) {
      slot = await pace.take(until);
      if (slot?.use() !== true || !mayStart()) notStart();
    }
    if (begin !== undefined && (!(await begin()) || !mayStart())) notStart();
    used = token;
    return token;
  };
  const source: TokenSource = {
    get: async (until) => {
      const either = new EitherCancellation(abort, until);
      return guarded(await tokens.get(either), either);
    },
    renew: async (refused, status, until) => {
      const either = new EitherCancellation(abort, until);
      return guarded(await tokens.renew(refused, status, either), either);
    },
  };
  try {
    const answer = await send(source);
    const outcome = decideOutcome(answer, await judgementOf(answer, used, tokens));
    if (outcome.kind === 'accepted' && used !== undefined) tokens.accepted(used);
    return { outcome, answer };
  } catch (error) {
    if (abort.aborted || notStarted) return { outcome: undefined };
    return { outcome: outcomeOfTokenError(error) };
  } finally {
    slot?.release();
  }
}

/** Asks the token slot about a second refusal; only it knows whether that token worked for others. */
async function judgementOf(
  answer: SendAnswer,
  used: Token | undefined,
  tokens: AttemptTokens,
): Promise<'again' | 'refused' | undefined> {
  const last = answer.refused.at(-1);
  if (!needsJudgement(answer) || used === undefined || last === undefined) return undefined;
  return tokens.judge(used, last.status);
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

/**
 * Asks to make an attempt; undefined when the queue is held. Redis that fails here sends nothing.
 */
export async function enterGate({ gate, log }: AttemptContext): Promise<Passage | undefined> {
  try {
    return await gate.enter();
  } catch (error) {
    log.trouble('gate', error);
    return undefined;
  }
}

/**
 * Places or lifts holds after an attempt, and slows the pace. Trouble with Redis here costs a probe,
 * never an outcome.
 */
export async function leaveGate(
  outcome: Outcome | undefined,
  passage: Passage,
  { gate, rateLimit: pace, log }: AttemptContext,
): Promise<void> {
  try {
    switch (outcome?.kind) {
      case 'hold': {
        const { hold, code, forMs } = outcome;
        const least = hold === 'throttled' ? THROTTLED_MIN_MS : 1;
        await gate.place(
          hold,
          code,
          passage,
          forMs === undefined ? undefined : Math.max(forMs, least),
        );
        if (hold === 'throttled') await pace.throttled();
        break;
      }
      case 'accepted':
      case 'rejected':
        await passage.succeeded();
        break;
      case 'retry':
      case 'unknown':
        await passage.undecided();
        break;
      case 'expired':
      case 'cancelled':
      case undefined:
        await passage.abandoned();
        break;
    }
  } catch (error) {
    log.trouble('hold', error);
  }
}
