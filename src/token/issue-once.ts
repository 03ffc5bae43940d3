import type { IssuedToken } from '../contracts/token.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { TokenKeys } from '../redis/keys.ts';
import type { ScriptClient } from '../redis/script.ts';
import { WakeSignal } from '../async/wake-signal.ts';
import type { TokenSeal } from './token-seal.ts';
import { TokenProtocol, type TokenEvent } from './token-protocol.ts';
import { TokenRecord } from './token-record.ts';
import type { TokenSettings } from './token-settings.ts';

/** Options of {@link issueOnce}. */
export interface IssueOnceOptions {
  readonly redis: ScriptClient;
  readonly keys: TokenKeys;
  readonly seal: TokenSeal;
  readonly issue: (signal: AbortSignal) => Promise<IssuedToken>;
  readonly settings: TokenSettings;
  /** Names this process in status: the id of the worker. */
  readonly issuer: string;
}

/** The result of {@link issueOnce}. */
export type IssuedOnce =
  /** Issued, and stored for the fleet unless a holder with a higher fence stored before. */
  | { readonly kind: 'issued'; readonly id: string; readonly ms: number }
  | { readonly kind: 'failed'; readonly error: NoticeQueueError }
  /** Not issued: another process issues, a refusal is in effect, or a renewal was tried a moment ago. */
  | { readonly kind: 'left' };

/**
 * Issues one token for the whole fleet, as an early renewal does: with the lock and a fence; the fleet uses
 * it from the next send on. Unlike for a send, a failed issuance is not recorded: a wrong secret on an
 * operator's machine must not hold the fleet.
 *
 * @param replaced id of the stored token; '' where none is stored
 * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
 */
export async function issueOnce(options: IssueOnceOptions, replaced: string): Promise<IssuedOnce> {
  const { redis, keys, seal, settings, issuer } = options;
  const events: TokenEvent[] = [];
  let failure: NoticeQueueError | undefined;
  const protocol = new TokenProtocol({
    record: new TokenRecord(redis, keys, seal, settings, issuer),
    seal,
    wakeSignal: new WakeSignal(),
    issue: async (signal) => {
      try {
        return await options.issue(signal);
      } catch (error) {
        failure =
          error instanceof NoticeQueueError ? error : new NoticeQueueError('TOKEN_UNAVAILABLE');
        throw failure;
      }
    },
    settings,
    emit: (event) => events.push(event),
  });
  await protocol.renewEarly(replaced);
  for (const event of events) {
    if (event.kind === 'issued') return { kind: 'issued', id: event.id, ms: event.ms };
    if (event.kind === 'early-renewal-failed') {
      return { kind: 'failed', error: failure ?? new NoticeQueueError(event.code) };
    }
  }
  return { kind: 'left' };
}
