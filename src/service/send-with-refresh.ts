import { NoticeQueueError } from '../contracts/errors.ts';
import type { CancelSignal, Refusal, Token, TokenSource } from '../contracts/token.ts';
import { Cancellation } from '../async/cancellation.ts';
import type { Deadline } from '../async/deadline.ts';
import type { SendAnswer } from './response/send-answer.ts';

/** The caller's last check before each request of a send call. */
export interface RequestGuard {
  /** Ends a wait for a token or a check; a request that is under way is not affected. */
  readonly cancel: CancelSignal;
  /**
   * Called once the token is there, right before a request. To forbid the request, it throws: the call
   * then ends with that error, unless its deadline fired meanwhile.
   *
   * @param cancel aborted when `RequestGuard.cancel` is, or when the time of the call is over
   * @returns undefined where it did not have to wait
   */
  check(cancel: CancelSignal): Promise<void> | undefined;
  /**
   * Asked when a connection is there, right before the first byte: the request may have waited for it since
   * `check`, and one that was not sent is repeated. False ends the call as given up, with nothing sent.
   */
  mayStart(): boolean;
  /** Called where the call ends with an error after a request that was refused, with what is known of that request. */
  noteRefused?(answer: SendAnswer): void;
}

/** What a send call consists of. */
export interface RefreshingCall {
  readonly tokens: TokenSource;
  readonly deadline: Deadline;
  readonly guard?: Pick<RequestGuard, 'cancel' | 'check'> | undefined;
  /** Makes the request and returns its refusal, if it was answered 401 or 403. */
  readonly request: (token: Token) => Promise<Refusal | undefined>;
}

/**
 * Sends with the current token; when the answer is 401 or 403, refreshes the token and retries once
 * (service-api, Authentication rule 4). It is not retried where the token source knows that another token is
 * refused the same.
 *
 * @throws NoticeQueueError what the token source throws; TOKEN_UNAVAILABLE for any foreign error of it
 */
export async function sendWithRefresh(call: RefreshingCall): Promise<void> {
  const { tokens, deadline, guard, request } = call;
  const cancel = guard === undefined ? deadline : new Cancellation(deadline, guard.cancel);

  const token = await usable(() => tokens.get(cancel), cancel, call);
  if (token === undefined) return;
  const refusal = await request(token);
  // Once the time is over, a token that is dropped and not used would be issued again for the next call.
  if (refusal === undefined || deadline.aborted) return;
  const renewed = await usable(() => tokens.renew(token, refusal, cancel), cancel, call);
  if (renewed !== undefined) await request(renewed);
}

/** A token with which a request may be made now; undefined when the call was given up meanwhile. */
async function usable(
  ask: () => Promise<Token | undefined>,
  cancel: CancelSignal,
  { deadline, guard }: RefreshingCall,
): Promise<Token | undefined> {
  let token: Token | undefined;
  try {
    token = await ask();
  } catch (error) {
    if (deadline.aborted && deadline.cause === 'aborted') return undefined;
    if (error instanceof NoticeQueueError) throw error;
    if (deadline.aborted) return undefined;
    // A foreign error could contain anything, a secret included.
    throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'The token source failed.');
  }
  if (token === undefined) return undefined;
  try {
    const checked = guard?.check(cancel);
    if (checked !== undefined) await checked;
  } catch (error) {
    if (deadline.aborted) return undefined;
    throw error;
  }
  return token;
}
