import type { Queue } from 'bullmq';
import { z } from 'zod';
import { refusalText, whyNotRedrive } from '../batch/failures/redrive-batch.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import { changeEnded } from '../notices/end-scripts.ts';
import { endedText, type EndedNotice } from '../notices/ended.ts';
import { readEndedAt, sendAgain, withNotices } from '../notices/send-again.ts';
import { encodeContacts, rowsOfPayload } from '../payload/chunk-payload.ts';
import { batchSeal, NO_SEALING } from '../payload/seal.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { count } from './answers/fields.ts';
import { appendAudit, type Actor } from './audit.ts';
import {
  batchesOf,
  listUnknownNotices,
  sumOfBatch,
  unknownParts,
  type UnknownContext,
  type UnknownFilter,
  type UnknownNotice,
  type UnknownPart,
} from './unknown.ts';

/**
 * Decisions on an unknown outcome. A resolved notice keeps its idempotency key for the rest of the window, so that a
 * repeated call does not send it again.
 *
 * | decision | a notice | contacts of a batch |
 * |---|---|---|
 * | accepted | counts as accepted | counted as accepted |
 * | resend | waits again, with all its attempts, counted as possibly sent twice | a new chunk, counted so, too |
 * | discard | counts as cancelled | counted as cancelled |
 */
export const RESOLUTIONS = ['accepted', 'resend', 'discard'] as const;

/** Name of a decision. */
export type UnknownResolution = (typeof RESOLUTIONS)[number];

/** A decision, who made it and why; recorded in the audit stream. */
export interface ResolveDecision extends Actor {
  readonly as: UnknownResolution;
}

/** What was resolved. */
export const resolveReport = z.object({
  resolved: count.describe('notices, or chunks and parts of chunks'),
  contacts: count,
  gone: count.describe('not unknown (any more)'),
  late: count.describe('not queued again, because their deadline has passed'),
  stopped: z.boolean().describe('it was stopped: repeat it for the rest'),
});
export type ResolveReport = z.output<typeof resolveReport>;

/** Result of resolving everything that matches a filter. */
interface SelectedReport extends ResolveReport {
  /** Batches with contacts that match and cannot be sent again now, and why. */
  readonly refused: { batch: string; reason: string }[];
}

/** An unknown notice as it was selected. Once it is unknown since another time, the decision is not about it. */
export type SelectedUnknown = Pick<UnknownNotice, 'id' | 'at' | 'contacts'>;

/** Notices that are resolved at the same time: their commands share round trips. */
const WINDOW = 50;

/**
 * Resolves single notices. If it is interrupted, run it again: what was not finished is still listed.
 *
 * @param notices as they were selected, each once
 * @param signal stops it between two notices
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; what was resolved before stays resolved
 */
export async function resolveNotices(
  redis: RedisClient,
  keys: Keys,
  notices: readonly SelectedUnknown[],
  decision: ResolveDecision,
  signal?: AbortSignal,
): Promise<ResolveReport> {
  const sum = { resolved: 0, contacts: 0, gone: 0, late: 0 };
  const decide = async (queue: Queue, notice: SelectedUnknown) => {
    const { id: target, contacts } = notice;
    const entry = await readEndedAt(redis, keys, notice);
    if (entry?.state !== 'unknown') return { result: 'gone', contacts } as const;
    const result = await resolveNotice(redis, keys, queue, entry, decision.as);
    if (result === 'resolved') {
      await appendAudit(redis, keys, { ...decision, what: 'resolve', target, contacts });
    }
    return { result, contacts };
  };
  try {
    return await withNotices(redis, keys, async (queue) => {
      for (let from = 0; from < notices.length; from += WINDOW) {
        if (signal?.aborted === true) return { ...sum, stopped: true };
        const some = notices.slice(from, from + WINDOW);
        const results = await Promise.allSettled(some.map((notice) => decide(queue, notice)));
        for (const one of results) {
          if (one.status === 'rejected') throw one.reason;
          sum[one.value.result] += 1;
          if (one.value.result === 'resolved') sum.contacts += one.value.contacts;
        }
      }
      return { ...sum, stopped: false };
    });
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * One script compares and changes: another process may have decided since the notice was selected, however long this
 * one was asleep. What is decided stays known for as long as the entry is kept; its contacts are deleted.
 */
async function resolveNotice(
  redis: RedisClient,
  keys: Keys,
  queue: Queue,
  entry: EndedNotice,
  as: UnknownResolution,
): Promise<'resolved' | 'gone' | 'late'> {
  if (as === 'resend') {
    if (entry.expiresAt !== undefined && entry.expiresAt <= Date.now()) return 'late';
    return (await sendAgain(redis, keys, queue, entry)) ? 'resolved' : 'gone';
  }
  const state = as === 'accepted' ? 'accepted' : 'cancelled';
  const { data: _data, text: _text, id: _id, stage: _stage, ...rest } = entry;
  const text = endedText({ ...rest, state });
  return (await changeEnded(redis, keys, entry, { text, to: state, state })) ? 'resolved' : 'gone';
}

/**
 * Resolves the unknown outcomes of a batch that match. Those that appear during the call are left as they are.
 * Where they are selected by number, the other contacts of a chunk are, too.
 *
 * @param signal stops it between two failures
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; what was resolved before stays
 *   resolved, and is in the audit stream; PAYLOAD_UNREADABLE where they are selected by number
 */
export async function resolveBatch(
  context: UnknownContext,
  batch: Batch,
  filter: UnknownFilter,
  decision: ResolveDecision,
  signal?: AbortSignal,
): Promise<ResolveReport & { readonly reason?: string }> {
  const { ledger, redis, keys, sealing = NO_SEALING } = context;
  const sum = { resolved: 0, contacts: 0, gone: 0, late: 0 };
  const { as } = decision;
  const resolve = async (name: string) => {
    if (as === 'resend') return ledger.redrive(batch.id, name, 'unknown');
    const to = as === 'accepted' ? 'accepted' : 'cancelled';
    const payload = await ledger.payload(batch.id, name);
    const rows = payload && (await rowsOfPayload(payload, batchSeal(sealing, batch.id)));
    return (await ledger.resolve(batch.id, name, to, 'unknown', rows)) ? 'resolved' : 'known';
  };
  const seen = new Set<string>();
  try {
    for await (const part of unknownParts(context, batch, filter)) {
      const { size } = part;
      // What did not exist at the start was created by this call.
      if (Number.parseInt(part.name, 10) >= batch.chunks || seen.has(part.name)) continue;
      if (signal?.aborted === true) return { ...sum, stopped: true };
      const name = await splitOff(context, batch.id, part);
      if (name !== undefined) seen.add(name);
      const result = name === undefined ? 'known' : await resolve(name);
      if (result === 'resolved' || result === 'redriven') {
        sum.resolved += 1;
        sum.contacts += size;
      } else if (result === 'known' || result === 'gone') sum.gone += 1;
      else return { ...sum, stopped: false, reason: refusalText(batch.id, result) };
    }
  } finally {
    if (sum.resolved > 0) {
      const { contacts } = sum;
      const target = `batch ${batch.id}`;
      await appendAudit(redis, keys, { ...decision, what: 'resolve', target, contacts });
    }
  }
  return { ...sum, stopped: false };
}

/**
 * Makes a failure that has exactly these contacts.
 *
 * @returns its name; undefined where the failure has changed meanwhile
 */
export async function splitOff(
  { ledger, sealing = NO_SEALING }: Pick<UnknownContext, 'ledger' | 'sealing'>,
  batch: string,
  { name, state, some }: Pick<UnknownPart, 'name' | 'state' | 'some'>,
): Promise<string | undefined> {
  if (some === undefined) return name;
  const [payload, rest] = await Promise.all(
    [some.taken, some.rest].map((part) => encodeContacts(part, batchSeal(sealing, batch))),
  );
  if (payload === undefined || rest === undefined) return undefined;
  const taken = { size: some.taken.length, payload, rest };
  return ledger.splitFailure(batch, name, some.of, taken, state);
}

/**
 * Resolves the single notices and the contacts of batches that match a filter. Those that appear during the call may be
 * left as they are.
 *
 * @param signal stops it; what was not resolved is still listed
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or PAYLOAD_UNREADABLE; what was resolved before stays
 *   resolved, and is in the audit stream
 */
export async function resolveSelected(
  context: UnknownContext,
  filter: UnknownFilter,
  decision: ResolveDecision,
  signal?: AbortSignal,
): Promise<SelectedReport> {
  const { redis, keys } = context;
  const notices = await listUnknownNotices(context, filter);
  const sum = { ...(await resolveNotices(redis, keys, notices, decision, signal)) };
  const refused: { batch: string; reason: string }[] = [];
  for await (const batch of batchesOf(context, filter)) {
    if (signal?.aborted === true) return { ...sum, refused, stopped: true };
    const reason = decision.as === 'resend' ? whyNotRedrive(batch, Date.now()) : undefined;
    if (reason !== undefined) {
      const found = await sumOfBatch(context, batch, filter);
      if (found !== undefined) refused.push({ batch: batch.id, reason });
      continue;
    }
    const done = await resolveBatch(context, batch, filter, decision, signal);
    sum.resolved += done.resolved;
    sum.contacts += done.contacts;
    sum.gone += done.gone;
    if (done.reason !== undefined) refused.push({ batch: batch.id, reason: done.reason });
    if (done.stopped) return { ...sum, refused, stopped: true };
  }
  return { ...sum, refused };
}
