import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import type { SendOptions } from '../../../src/contracts/send-options.ts';
import { NoticeQueueError } from '../../../src/contracts/errors.ts';
import type { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { numbers } from '../../support/fleet.ts';
import type { HandedOver } from './judge.ts';
import { CHUNK } from './settings.ts';

const GROUP = 50;
const CALL_AGAIN_MS = 100;
const DRIP_EVERY_MS = 250;

/** Numbers of a load: beyond them are those of the next one. */
const MOST_NUMBERS = 4_000_000;

/**
 * What is handed over in a scenario under one policy: a batch, whose id is the name of the policy, and single notices of
 * one contact each. An application must repeat a call while Redis is away, with the same idempotency key or batch id:
 * that is done here, and nothing else.
 */
export class Load implements HandedOver {
  readonly delivery: DeliveryPolicy;
  readonly listed: readonly string[];
  readonly spoiled: readonly string[];
  readonly notices = new Map<string, string>();
  readonly bad = new Map<string, string>();
  readonly others = new Map<string, string>();
  readonly handedAt = new Map<string, number>();
  readonly seen = { looks: 0, wrongSums: 0, underWay: 0 };
  readonly #queue: NoticeQueue;
  #handedOver: Promise<unknown> = Promise.resolve();
  #next: number;

  /**
   * @param contacts of the batch
   * @param spoiledChunks how many of its chunks have a contact that the service refuses
   */
  constructor(queue: NoticeQueue, delivery: DeliveryPolicy, contacts: number, spoiledChunks = 0) {
    this.#queue = queue;
    this.delivery = delivery;
    this.#next = DELIVERY_POLICIES.indexOf(delivery) * MOST_NUMBERS;
    this.listed = this.take(contacts);
    this.spoiled = spoiledOf(this.listed, spoiledChunks);
  }

  /** Resolves when everything that was begun has been handed over. */
  get handedOver(): Promise<unknown> {
    return this.#handedOver;
  }

  /** Numbers that no other notice has. */
  take(count: number): string[] {
    this.#next += count;
    return numbers(count, this.#next - count);
  }

  /** Begins to hand over the batch. */
  beginImport(highWater: number): void {
    const { delivery, listed } = this;
    const options = {
      templateCode: 'CHAOS',
      batchId: delivery,
      chunkSize: CHUNK,
      delivery,
      highWater,
    };
    // A failure is thrown where `handedOver` is awaited.
    void this.#begin(() =>
      again(() =>
        this.#queue.import(
          listed.map((contact) => ({ contact })),
          options,
        ),
      ),
    );
  }

  /** Hands over more single notices, `group` of them a call. */
  send(count: number, group = GROUP): Promise<void> {
    return this.#handOver(this.notices, this.take(count), { group });
  }

  /** Hands over notices that the service refuses, by their sender key or by one of these numbers. */
  sendBad(contacts: readonly string[], senderKey?: string): Promise<void> {
    const fields = senderKey === undefined ? {} : { senderKey };
    return this.#handOver(this.bad, contacts, { fields });
  }

  /** Hands over notices that may be lost, or not be sent. */
  async sendOthers(count: number, options: SendOptions = {}): Promise<string[]> {
    const contacts = this.take(count);
    await this.#handOver(this.others, contacts, { options });
    return contacts;
  }

  #handOver(
    into: Map<string, string>,
    contacts: readonly string[],
    { group = GROUP, fields = {}, options = {} }: Handing,
  ): Promise<void> {
    return this.#begin(async () => {
      for (let from = 0; from < contacts.length; from += group) {
        const some = contacts.slice(from, from + group);
        const receipts = await again(() =>
          this.#queue.sendMany(
            some.map((contact) => ({ templateCode: 'CHAOS', ...fields, contacts: [{ contact }] })),
            { delivery: this.delivery, idempotencyKey: `group-${some[0]}`, ...options },
          ),
        );
        for (const [at, { id }] of receipts.entries()) {
          const contact = some[at] ?? '';
          into.set(id, contact);
          this.handedAt.set(contact, Date.now());
        }
      }
    });
  }

  /**
   * Hands over single notices evenly, so that some are under way whenever something breaks.
   *
   * @param isBehind whether so many wait that no more are handed over: a fleet with fewer workers than at first could
   *   send them as slowly as they come, and the load would not end
   */
  beginDrip(
    perSecond: number,
    isBehind: () => Promise<boolean>,
    isOver: () => Promise<boolean>,
  ): void {
    const some = Math.round((perSecond * DRIP_EVERY_MS) / 1_000);
    void this.#begin(async () => {
      while (!(await isOver())) {
        if (!(await isBehind())) await this.send(some);
        await pause(DRIP_EVERY_MS);
      }
    });
  }

  #begin<Result>(work: () => Promise<Result>): Promise<Result> {
    const working = work();
    this.#handedOver = Promise.all([this.#handedOver, working]);
    // A failure is thrown where it is awaited; until then it must not end the process.
    this.#handedOver.catch(() => {});
    return working;
  }
}

/**
 * The chunks of several imports are queued anew in turns, so that each fault meets all of them. Nothing takes one
 * meanwhile.
 *
 * @param waiting the list of their jobs
 */
export async function queueInTurns(redis: Redis, waiting: string): Promise<void> {
  const ids = await redis.lrange(waiting, 0, -1);
  // The last one is taken first.
  const inTurns = ids.toSorted((one, other) => chunkOf(other) - chunkOf(one));
  await redis
    .multi()
    .del(waiting)
    .rpush(waiting, ...inTurns)
    .exec();
}

/** The number of a chunk, from the id of its job. */
export const chunkOf = (id: string) => Number(/-(\d+)$/.exec(id)?.[1]);

/** How single notices are handed over. */
interface Handing {
  readonly group?: number;
  readonly fields?: { readonly senderKey?: string };
  readonly options?: SendOptions;
}

/** In the middle of their chunks, evenly spread over the list. */
function spoiledOf(listed: readonly string[], chunks: number): string[] {
  const every = Math.floor(listed.length / CHUNK / Math.max(1, chunks)) * CHUNK;
  return Array.from({ length: chunks }, (_, at) => listed[at * every + CHUNK / 2] ?? '');
}

const CALL_AGAIN: ReadonlySet<string> = new Set([
  'QUEUE_UNAVAILABLE',
  'QUEUE_REFUSED',
  'REDIS_FULL',
]);

async function again<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof NoticeQueueError) || !CALL_AGAIN.has(error.code)) throw error;
      await pause(CALL_AGAIN_MS);
    }
  }
}
