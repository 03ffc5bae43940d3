import { randomUUID } from 'node:crypto';
import { hintChannel } from '../../redis/hints.ts';
import type { Script } from '../../redis/script.ts';
import {
  redriveFailure,
  resolveFailure,
  splitFailure,
  takeOutOfChunk,
} from './scripts/action-scripts.ts';
import type { BatchPhase } from './batch-record.ts';
import { LedgerReader, type FailureRecord } from './ledger-reader.ts';

/** Why a failure was not sent again: the phase of its batch, or `late` past its deadline. */
export type RedriveRefusal = Exclude<BatchPhase, 'sending' | 'finished'> | 'late';

/** What people do with contacts of batches: send again, decide, take out. Each method runs one Lua script. */
export class LedgerActions extends LedgerReader {
  /**
   * Sends a failure again: its contacts become a new chunk.
   *
   * @param state the state the failure must have, so that unknown ones are never resent by mistake
   * @param code the code it must have; any if empty
   * @param duringImport also while the list is imported or paused. Default: that is refused
   * @returns `known` if it no longer exists or does not match, `gone` if its batch does not; a refusal changes nothing
   */
  async redrive(
    id: string,
    name: string,
    state: FailureRecord['state'],
    code = '',
    duringImport = false,
  ): Promise<'redriven' | 'known' | 'gone' | RedriveRefusal> {
    const keys = [this.keys.done(randomUUID())];
    const [result, why] = await this.run(
      redriveFailure,
      id,
      [name, state, code, duringImport ? 1 : 0],
      keys,
    );
    if (result === 'redriven') await this.publishHint(id);
    return (result === 'refused' ? why : result) as 'redriven' | 'known' | 'gone' | RedriveRefusal;
  }

  /**
   * Moves a failure to the state that a person decided on, and deletes its contacts.
   *
   * @param state the state it must have
   * @returns false if it no longer exists or has another state
   */
  async resolve(
    id: string,
    name: string,
    as: 'accepted' | 'cancelled',
    state: FailureRecord['state'] = 'unknown',
    rows = '',
  ): Promise<boolean> {
    const keys = [this.keys.done(randomUUID())];
    const [result] = await this.run(resolveFailure, id, [name, as, state, rows], keys);
    return result === 'resolved';
  }

  /**
   * Takes contacts out of a failure; they become a failure of their own.
   *
   * @param size contacts of the failure, as it was read
   * @returns its name; undefined if the failure has changed since
   */
  async splitFailure(
    id: string,
    name: string,
    size: number,
    taken: { readonly size: number; readonly payload: Buffer; readonly rest: Buffer },
    state: FailureRecord['state'] = 'unknown',
  ): Promise<string | undefined> {
    const args = [name, size, taken.size, taken.rest, taken.payload, state];
    const [result, part] = await this.run(splitFailure, id, args, [this.keys.done(randomUUID())]);
    return result === 'split' ? String(part) : undefined;
  }

  /**
   * Takes contacts out of a chunk that waits and was not sent: they count as cancelled.
   *
   * @param size contacts of the chunk, as it was read
   * @returns `sending` if an attempt has the chunk; `possibly-sent` if it will be tried again after one; `known` if it
   *   has changed since or does not wait
   */
  async takeOut(
    id: string,
    chunk: number,
    size: number,
    taken: { readonly size: number; readonly rows?: string; readonly rest: Buffer | undefined },
  ): Promise<'taken' | 'sending' | 'possibly-sent' | 'known' | 'gone'> {
    const keys = [this.keys.done(randomUUID())];
    const args = [chunk, size, taken.size, taken.rest ?? '', taken.rows ?? ''];
    const [result] = await this.run(takeOutOfChunk, id, args, keys);
    return result as 'taken' | 'sending' | 'possibly-sent' | 'known' | 'gone';
  }

  /** Runs a ledger script; its answer is a list whose first element names the result. */
  protected async run(
    script: Script<unknown>,
    id: string,
    args: readonly (string | number | Buffer)[],
    moreKeys: readonly string[] = [],
  ): Promise<readonly unknown[]> {
    const { record, chunks, payload, sizes, inflight, failures, groups } = this.keys.batch(id);
    const { counts, events, batches, openBatches, unknownContacts } = this.keys;
    const ofBatch = [record, chunks, payload, sizes, inflight, failures, groups];
    const ofAccount = [counts, events, batches, openBatches];
    const keys = [...ofBatch, ...ofAccount, ...moreKeys, unknownContacts];
    const reply = await this.ask(() => script(this.redis, keys, args));
    return reply as readonly unknown[];
  }

  /**
   * Notifies the workers that chunks may have no job. Without it they look a moment later: what was done stays done.
   */
  protected async publishHint(id: string): Promise<void> {
    const channel = hintChannel(this.redis, this.keys.batchHints);
    await this.redis.publish(channel, id).catch(() => 0);
  }
}
