import type { IssuedToken } from '../contracts/token.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { TokenKeys } from '../redis/keys.ts';
import type { ScriptClient } from '../redis/script.ts';
import { WakeSignal } from '../async/wake-signal.ts';
import type { TokenSeal } from './token-seal.ts';
import { TokenProtocol } from './token-protocol.ts';
import { TokenRecord } from './token-record.ts';
import type { TokenEvent } from './token-event.ts';
import type { TokenSettings } from './token-settings.ts';

/** What {@link issueOnce} stands on. */
export interface IssueOnceOptions {
  readonly redis: ScriptClient;
  readonly keys: TokenKeys;
  readonly seal: TokenSeal;
  readonly issue: (signal: AbortSignal) => Promise<IssuedToken>;
  readonly settings: TokenSettings;
  /** Names this process to people: `host:pid`. */
  readonly issuer: string;
}

/** What became of it. */
export type IssuedOnce =
  /** Stored for the fleet, unless a holder with a higher fence did before. */
  | { readonly kind: 'issued'; readonly id: string; readonly ms: number }
  | { readonly kind: 'failed'; readonly error: NoticeQueueError }
  /** Another process issues, a refusal stands, or a renewal was tried a moment ago. */
  | { readonly kind: 'left' };

/**
 * Issues one token through the slot, as an early renewal does: under the lock and a fence, and for the
 * whole fleet, which takes it from the next send on. Unlike a send's want, an issuance that fails is
 * remembered by nobody: a wrong secret on the machine of whoever looks must not hold the fleet.
 *
 * @param replaced id of the stored token; '' where none is stored
 * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
 */
export async function issueOnce(deps: IssueOnceOptions, replaced: string): Promise<IssuedOnce> {
  const { redis, keys, seal, settings, issuer } = deps;
  const events: TokenEvent[] = [];
  let failure: NoticeQueueError | undefined;
  const protocol = new TokenProtocol({
    record: new TokenRecord(redis, keys, seal, settings, issuer),
    seal,
    wakeSignal: new WakeSignal(),
    issue: async (signal) => {
      try {
        return await deps.issue(signal);
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
