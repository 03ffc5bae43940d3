import type { Redis } from 'ioredis';
import type { Batch } from '../../../src/batch/ledger/batch-record.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { decodeContacts } from '../../../src/batch/payload/payload.ts';
import { listUnknownNotices } from '../../../src/ops/unknown.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import type { Fleet } from '../../support/fleet.ts';
import type { Verdict } from './laws.ts';
import { BATCH, type Load } from './load.ts';

/** Sum of a batch's states; must be its total at every instant. */
export function sumOf({ counts }: Batch): number {
  const { pending, accepted, rejected, unknown, expired, cancelled } = counts;
  return pending + accepted + rejected + unknown + expired + cancelled;
}

/** A single notice, as BullMQ knows it. */
interface NoticeState {
  readonly id: string;
  readonly contact: string;
  readonly done: boolean;
  readonly failed: boolean;
  /** A worker died or stood still while it worked on it. */
  readonly stalled: boolean;
}

async function statesOfNotices(redis: Redis, keys: Keys, load: Load): Promise<NoticeState[]> {
  const beginning = keys.noticeJob('');
  const notices = [...load.notices];
  const pipeline = redis.pipeline();
  for (const [id] of notices) {
    pipeline.zscore(`${beginning}completed`, id);
    pipeline.zscore(`${beginning}failed`, id);
    pipeline.hget(keys.noticeJob(id), 'stc');
  }
  const replies = (await pipeline.exec()) ?? [];
  const reply = (index: number) => replies[index]?.[1] ?? undefined;
  return notices.map(([id, contact], index) => ({
    id,
    contact,
    done: reply(index * 3) !== undefined,
    failed: reply(index * 3 + 1) !== undefined,
    stalled: Number(reply(index * 3 + 2) ?? 0) > 0,
  }));
}

/** Whether every notice and the whole batch have ended. */
export async function isOver(redis: Redis, keys: Keys, load: Load): Promise<boolean> {
  const batch = await new Ledger(redis, keys).read(BATCH);
  if (batch?.phase !== 'finished') return false;
  return (await statesOfNotices(redis, keys, load)).every(({ done, failed }) => done || failed);
}

/** Where a load stands that does not end, for the message. */
export async function whatIsOpen(redis: Redis, keys: Keys, load: Load): Promise<unknown> {
  const beginning = keys.noticeJob('');
  const open = (await statesOfNotices(redis, keys, load)).filter(
    ({ done, failed }) => !done && !failed,
  );
  const batch = await new Ledger(redis, keys).read(BATCH);
  const jobs = open.slice(0, 3).map(async ({ id }) => {
    const { ats, atm, stc, failedReason } = await redis.hgetall(keys.noticeJob(id));
    return {
      id,
      waits: (await redis.lpos(`${beginning}wait`, id)) !== null,
      active: (await redis.lpos(`${beginning}active`, id)) !== null,
      delayed: await redis.zscore(`${beginning}delayed`, id),
      lockMs: await redis.pttl(keys.noticeLock(id)),
      intent: await redis.hget(keys.intents.open, id),
      started: ats,
      made: atm,
      stalled: stc,
      failedReason,
    };
  });
  return {
    phase: batch?.phase,
    counts: batch?.counts,
    hold: await redis.hgetall(keys.hold),
    openNotices: open.length,
    first: await Promise.all(jobs),
  };
}

/** What became of the notices of a load that is over. */
export type Fate = Pick<
  Verdict,
  | 'listed'
  | 'sum'
  | 'handedOver'
  | 'lost'
  | 'twice'
  | 'unexplained'
  | 'unknown'
  | 'again'
  | 'phantom'
  | 'misled'
  | 'issued'
  | 'invalidated'
  | 'repeated'
>;

/** Compares what ours say with the service's own record: that is the judge, ours is the defendant. */
export async function judge(
  redis: Redis,
  keys: Keys,
  load: Load,
  { emulator, attempts }: Pick<Fleet, 'emulator' | 'attempts'>,
): Promise<Fate> {
  const ledger = new Ledger(redis, keys);
  const batch = await ledger.read(BATCH);
  if (batch === undefined) throw new Error('the batch is gone');
  const taken = new Map([...emulator.contacts()].map(({ contact, count }) => [contact, count]));

  const unknown = await unknownOfBatch(ledger);
  const listed = await listUnknownNotices(redis, keys);
  const unknownIds = new Set(listed.map(({ id }) => id));
  for (const id of unknownIds) unknown.add(load.notices.get(id) ?? '');

  const lines = attempts();
  const notices = await statesOfNotices(redis, keys, load);
  const unclear = new Set(
    lines.filter(({ outcome }) => outcome === 'unknown').map(({ job }) => String(job)),
  );
  const doubted = new Set(
    notices.filter(({ id, stalled }) => stalled || unclear.has(id)).map(({ contact }) => contact),
  );

  const { maybeTwice, rejected, expired, cancelled, pending } = batch.counts;
  const ofBatch = new Set(load.listed);
  const twice = [...taken].filter(([, count]) => count > 1);
  const extraOfBatch = twice
    .filter(([contact]) => ofBatch.has(contact))
    .reduce((sum, [, count]) => sum + count - 1, 0);
  const twiceAlone = twice.filter(([contact]) => !ofBatch.has(contact) && !doubted.has(contact));
  const { tokens, revocations } = emulator.record();
  const all = [...load.listed, ...load.notices.values()];
  return {
    listed: load.listed.length,
    sum: sumOf(batch),
    handedOver: all.length,
    lost: all.filter((contact) => !taken.has(contact) && !unknown.has(contact)).length,
    twice: twice.length,
    unexplained: Math.max(0, extraOfBatch - maybeTwice) + twiceAlone.length,
    unknown: unknown.size,
    again: maybeTwice + (load.delivery === 'at-least-once' ? doubted.size : 0),
    phantom: notices.filter(({ done, contact }) => done && !taken.has(contact)).length,
    misled:
      rejected +
      expired +
      cancelled +
      pending +
      notices.filter(({ id, done, failed }) => done === failed || (failed && !unknownIds.has(id)))
        .length,
    issued: tokens.issued,
    invalidated: revocations + tokens.foreign,
    repeated: lines.filter(({ attempt }) => Number(attempt) > 1).length,
  };
}

async function unknownOfBatch(ledger: Ledger): Promise<Set<string>> {
  const unknown = new Set<string>();
  for await (const { name, state } of ledger.failures(BATCH)) {
    if (state !== 'unknown') continue;
    const payload = await ledger.payload(BATCH, name);
    if (payload === undefined) throw new Error(`failure ${name} has no contacts`);
    for (const { contact } of await decodeContacts(payload, [])) unknown.add(contact);
  }
  return unknown;
}
