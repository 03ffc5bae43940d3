import { setTimeout } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import { z } from 'zod';
import { refusalText, splitOff, whyNotRedrive } from '../batch/failures/failures.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import type { RedriveRefusal } from '../batch/ledger/ledger.ts';
import { changeEnded } from '../notices/end-scripts.ts';
import { endedText } from '../notices/ended.ts';
import { sendAgain, settleAgain, withNotices } from '../notices/send-again.ts';
import { rowsOfPayload } from '../payload/chunk-payload.ts';
import { batchSeal, NO_SEALING } from '../payload/seal.ts';
import { redisFailure } from '../redis/failure.ts';
import { MemoryRoom } from '../redis/memory-room.ts';
import { redisTime } from '../redis/server-clock.ts';
import { count } from '../contracts/answer.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import { countOf } from '../format/format.ts';
import { appendAudit } from './audit.ts';
import {
  batchesIn,
  decidable,
  groupsIn,
  noticesIn,
  partsIn,
  selectFields,
  type BatchPart,
  type EntrySource,
  type FailedNotice,
  type EntrySelect,
} from './entries.ts';
import { msAhead, oneOf, rate as rateField, whole } from './operations/fields.ts';
import type { OperationCall } from './operations/operation.ts';

/**
 * Decisions on what was not accepted. A notice keeps its idempotency key for the rest of the window, unless it is
 * released, so that a repeated call does not send it again.
 *
 * | decision | a notice | contacts of a batch |
 * |---|---|---|
 * | resend | waits again under its id, with all its attempts; what was possibly sent stays known | a new chunk |
 * | accepted | counts as accepted | counted as accepted |
 * | discard | counts as cancelled | counted as cancelled |
 */
export const DECISIONS = ['resend', 'accepted', 'discard'] as const;

export const decideInput = z.object({
  as: oneOf(DECISIONS).describe('send them again, count them as accepted, or give them up'),
  state: decidable
    .optional()
    .describe(
      'those in this state; unknown ones that are sent again may arrive twice. Default: rejected ones are sent again, unknown ones settled',
    ),
  ...selectFields,
  limit: whole(1, 1_000_000_000).optional().describe('most contacts'),
  rate: rateField.describe('most contacts per second, on average'),
  releaseKey: z
    .boolean()
    .optional()
    .describe(
      'release the idempotency keys of discarded notices, so that they can be sent anew; not of unknown ones',
    ),
});

export type Decision = Pick<OperationCall, 'who' | 'why' | 'signal' | 'onProgress'> &
  Pick<z.output<typeof decideInput>, 'as' | 'limit' | 'rate' | 'releaseKey'>;

/** What is decided on: one state, so that unknown ones, which may have arrived, are not sent again by mistake. */
export type DecideSelect = EntrySelect & { readonly state: z.output<typeof decidable> };

export const decided = z.object({
  done: count.describe('notices, and chunks and parts of chunks'),
  contacts: count.describe('of these'),
  gone: count.describe('of what was named or matched: changed meanwhile, or not in this state'),
  late: count.describe('not sent again, because their deadline has passed'),
  complete: z.boolean().describe('false because of the limit, or it took too long: repeat it'),
  refused: z
    .array(z.object({ batch: z.string(), reason: z.string() }))
    .describe('batches that match and cannot be sent again now'),
});
export type DecideReport = z.output<typeof decided>;

/** What is decided on at the same time: the commands share round trips. With a rate it is one, so that it is even. */
const WINDOW = 50;

/** Memory in Redis of what is sent again, beside its contacts, which are stored already. */
const RESENT_BYTES = 1_250;

type DecideResult = 'done' | 'gone' | 'expired' | RedriveRefusal;

/**
 * Decides on what matches, the oldest notices first, waits for memory to send it again, and records it in the audit
 * stream: each unknown notice by itself, of the others their sum. What appears meanwhile is left as it is. Safe to repeat after an interruption.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED, REDIS_FULL or PAYLOAD_UNREADABLE; what was done before stays
 *   done, and is in the audit stream
 */
export async function decide(
  context: EntrySource,
  select: DecideSelect,
  decision: Decision,
): Promise<DecideReport> {
  const { redis, keys, ledger, sealing = NO_SEALING } = context;
  const { as, limit = Infinity, rate = Infinity, signal, onProgress } = decision;
  const { state, code } = select;
  const sum = { done: 0, contacts: 0, gone: 0, late: 0, complete: true };
  const refused: { batch: string; reason: string }[] = [];
  const startedAt = performance.now();
  const most = rate === Infinity ? WINDOW : 1;
  const room = new MemoryRoom(redis, select.ids === undefined ? 'lists' : 'notices');
  let tried = 0;

  const record = (target: string, contacts: number) => {
    const words = [as, state, ...(code === undefined ? [] : [code])].join(' ');
    return appendAudit(context, decision, { what: 'decide', target, as: words, contacts });
  };

  /** @returns why the rest cannot be done, where that is so */
  const each = async <One>(
    found: AsyncIterable<One>,
    sizeOf: (one: One) => number,
    act: (one: One) => Promise<DecideResult>,
  ): Promise<RedriveRefusal | undefined> => {
    let refusal: RedriveRefusal | undefined;
    let window: One[] = [];
    const flush = async () => {
      const some = window;
      window = [];
      if (as === 'resend' && !(await room.wait(some.length * RESENT_BYTES, signal))) {
        // Stopped, it tells what was done; where that is nothing, why.
        if (signal?.aborted === true && sum.done > 0) {
          sum.complete = false;
          return;
        }
        const detail = `Redis has little memory left; ${countOf(sum.contacts, 'contact')} sent again before.`;
        throw new NoticeQueueError('REDIS_FULL', detail);
      }
      const results = await Promise.allSettled(some.map(act));
      for (const [index, one] of results.entries()) {
        if (one.status === 'rejected') continue;
        const { value } = one;
        if (value === 'done') sum.contacts += sizeOf(some[index] as One);
        if (value === 'done' || value === 'gone') sum[value] += 1;
        else if (value === 'expired') sum.late += 1;
        else refusal = value;
      }
      onProgress?.(sum.contacts);
      // Only now: what was done beside it is counted.
      for (const one of results) if (one.status === 'rejected') throw one.reason;
      const aheadMs = msAhead(tried, rate, startedAt);
      if (aheadMs > 0) await setTimeout(aheadMs, undefined, { signal }).catch(() => {});
    };
    for await (const one of found) {
      if (refusal !== undefined) return refusal;
      if (signal?.aborted === true) break;
      // A limit that is no number lets none through.
      if (!(tried + sizeOf(one) <= limit)) {
        sum.complete = false;
        continue;
      }
      tried += sizeOf(one);
      window.push(one);
      if (window.length >= most) await flush();
    }
    if (signal?.aborted === true) sum.complete = false;
    else if (window.length > 0) await flush();
    return refusal;
  };

  const onNotices = async (queue: Queue) => {
    let [last, found] = ['', 0];
    const before = { ...sum };
    // One that is sent again and ends meanwhile is left; those with ids are read at once.
    const chosen =
      select.ids === undefined
        ? { ...select, before: select.before ?? Math.ceil(await redisTime(redis)) }
        : select;
    const entries = async function* () {
      for await (const page of noticesIn(context, chosen, { oldestFirst: true })) {
        found += page.length;
        yield* page;
      }
    };
    try {
      await each(
        entries(),
        ({ contacts }) => contacts,
        async (notice) => {
          const result = await decideNotice(context, queue, notice, decision);
          if (result !== 'done') return result;
          last = notice.id;
          if (state === 'unknown') await record(notice.id, notice.contacts);
          return result;
        },
      );
    } finally {
      const done = sum.done - before.done;
      const contacts = sum.contacts - before.contacts;
      const target = done === 1 ? last : 'single notices';
      if (done > 0 && state !== 'unknown') await record(target, contacts);
    }
    if (select.ids !== undefined) sum.gone += new Set(select.ids).size - found;
  };

  const onBatch = async (batch: Batch) => {
    const { id, chunks } = batch;
    const seal = batchSeal(sealing, id);
    const seen = new Set<string>();
    const contactsBefore = sum.contacts;
    const entries = async function* () {
      for await (const part of partsIn(context, batch, select)) {
        // What did not exist at the start was created by this call.
        if (Number.parseInt(part.name, 10) < chunks && !seen.has(part.name)) yield part;
      }
    };
    const act = async ({ some, ...part }: BatchPart): Promise<DecideResult> => {
      const failure = { name: part.name, state };
      const name = some === undefined ? part.name : await splitOff(ledger, id, failure, some, seal);
      if (name === undefined) return 'gone';
      seen.add(name);
      if (as === 'resend') {
        const result = await ledger.redrive(id, name, state, part.code);
        if (result === 'redriven') return 'done';
        return result === 'known' ? 'gone' : result;
      }
      const payload = await ledger.payload(id, name);
      const rows = payload && (await rowsOfPayload(payload, seal));
      const to = as === 'accepted' ? as : 'cancelled';
      return (await ledger.resolve(id, name, to, state, rows)) ? 'done' : 'gone';
    };
    try {
      const refusal = await each(entries(), ({ size }) => size, act);
      if (refusal !== undefined) refused.push({ batch: id, reason: refusalText(id, refusal) });
    } finally {
      const contacts = sum.contacts - contactsBefore;
      if (contacts > 0) await record(`batch ${id}`, contacts);
    }
  };

  try {
    await settleAgain(redis, keys);
    if (select.batch === undefined) await withNotices(redis, keys, onNotices);
    for await (const batch of batchesIn(context, select)) {
      if (signal?.aborted === true) {
        sum.complete = false;
        break;
      }
      const reason = as === 'resend' ? whyNotRedrive(batch, Date.now()) : undefined;
      if (reason === undefined) await onBatch(batch);
      else if ((await groupsIn(context, batch, select)).length > 0) {
        refused.push({ batch: batch.id, reason });
      }
    }
  } catch (error) {
    throw redisFailure(error);
  }
  return { ...sum, refused };
}

/**
 * One script compares and changes: another process may have decided since the notice was read, however long this one was
 * asleep. What is decided stays known for as long as the entry is kept; its contacts are deleted.
 */
async function decideNotice(
  { redis, keys }: EntrySource,
  queue: Queue,
  entry: FailedNotice,
  { as, releaseKey: releases }: Decision,
): Promise<'done' | 'gone' | 'expired'> {
  if (as === 'resend') {
    if (entry.expiresAt !== undefined && entry.expiresAt <= Date.now()) return 'expired';
    return (await sendAgain(redis, keys, queue, entry)) ? 'done' : 'gone';
  }
  const state = as === 'accepted' ? as : 'cancelled';
  const { data: _data, text: _text, id: _id, stage: _stage, key, ...rest } = entry;
  const kept = key === undefined || releases === true ? rest : { ...rest, key };
  const text = endedText({ ...kept, state });
  // Without a key there is only the mark of a job that was just added, which a repeated add has to find.
  const release = releases === true && key !== undefined;
  const change = { text, to: state, state, release } as const;
  return (await changeEnded(redis, keys, entry, change)) ? 'done' : 'gone';
}
