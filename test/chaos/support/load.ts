import { setTimeout as pause } from 'node:timers/promises';
import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import type { SendOptions } from '../../../src/contracts/send-options.ts';
import { NoticeQueueError } from '../../../src/contracts/errors.ts';
import type { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { numbers } from '../../support/fleet.ts';
import { BATCH, CHUNK } from './settings.ts';

const GROUP = 50;
const CALL_AGAIN_MS = 100;
const DRIP_EVERY_MS = 250;

/**
 * What is handed over in a scenario: a batch, and single notices of one contact each. An application must
 * repeat a call while Redis is away, with the same idempotency key or batch id: that is done here, and
 * nothing else.
 */
export class Load {
  readonly delivery: DeliveryPolicy;
  /** Contacts of the batch. */
  readonly listed: readonly string[];
  /** Those among them for which the service refuses a request. */
  readonly spoiled: readonly string[];
  /** Contact of each single notice, by the id of its job. */
  readonly notices = new Map<string, string>();
  /** The same of notices that the service refuses for themselves. */
  readonly bad = new Map<string, string>();
  /** When each single notice was handed over, by its contact: milliseconds since the epoch. */
  readonly handedAt = new Map<string, number>();
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
    this.listed = numbers(contacts);
    this.spoiled = spoiledOf(this.listed, spoiledChunks);
    this.#next = contacts;
  }

  /** Resolves when everything that was begun has been handed over. */
  get handedOver(): Promise<unknown> {
    return this.#handedOver;
  }

  /** Begins to hand over the batch. */
  beginImport(highWater: number): void {
    const { delivery, listed } = this;
    const options = {
      templateCode: 'CHAOS',
      batchId: BATCH,
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
  send(count: number, options: SendOptions = {}, group = GROUP): Promise<void> {
    const first = this.#next;
    this.#next += count;
    const contacts = numbers(count, first);
    return this.#begin(async () => {
      for (let from = 0; from < count; from += group) {
        const some = contacts.slice(from, from + group);
        const receipts = await again(() =>
          this.#queue.sendMany(
            some.map((contact) => ({ templateCode: 'CHAOS', contacts: [{ contact }] })),
            { delivery: this.delivery, idempotencyKey: `group-${first + from}`, ...options },
          ),
        );
        this.#note(this.notices, receipts, some);
      }
    });
  }

  /** Hands over notices that the service refuses, by their sender key or by one of these numbers. */
  sendBad(contacts: readonly string[], senderKey?: string): Promise<void> {
    return this.#begin(async () => {
      const receipts = await again(() =>
        this.#queue.sendMany(
          contacts.map((contact) => ({
            templateCode: 'CHAOS',
            ...(senderKey === undefined ? {} : { senderKey }),
            contacts: [{ contact }],
          })),
          { delivery: this.delivery, idempotencyKey: `bad-${contacts[0]}` },
        ),
      );
      this.#note(this.bad, receipts, contacts);
    });
  }

  #note(
    into: Map<string, string>,
    receipts: readonly { readonly id: string }[],
    contacts: readonly string[],
  ): void {
    for (const [at, { id }] of receipts.entries()) {
      const contact = contacts[at] ?? '';
      into.set(id, contact);
      this.handedAt.set(contact, Date.now());
    }
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
    const some = Math.ceil((perSecond * DRIP_EVERY_MS) / 1_000);
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
