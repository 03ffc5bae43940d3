import { PendingNotices, type PendingNotice } from './pending-notices.ts';

/** Notices that go in one request. */
export interface Group<Notice> {
  readonly notices: readonly Notice[];
  /** It is a part of a group that was refused as a whole. */
  readonly isPart: boolean;
  /** Requests of refused groups that are still to be counted, with the first notice of this one. */
  readonly uncounted?: number;
}

/** Bounds of the requests that a process makes for single notices. */
export interface CoalescerSettings {
  /** Requests under way at the same time. */
  readonly maxRequests: number;
  /** Contacts of one request; 1 sends every notice in a request of its own. */
  readonly maxContacts: number;
  /** Aborted when the worker stops. */
  readonly stopping: AbortSignal;
}

/**
 * Turns the notices that this process holds into requests. A notice moves so:
 *
 * - waiting: {@link Coalescer.add}. It stands in line (pending-notices.ts).
 * - waiting -> under way: with its group, as soon as fewer than `maxRequests` requests are under way.
 *   Nobody waits for company: a group forms of those that were fetched in the same turn of the event
 *   loop, and of those that had to wait because all requests were under way.
 * - under way -> waiting, before all others: its group was refused and goes on in parts.
 * - under way -> ended: `send` has told it.
 *
 * When the worker stops nobody waits any longer: `send` gives back what it does not begin to send.
 */
export class Coalescer<Notice extends PendingNotice> {
  readonly #settings: CoalescerSettings;
  readonly #send: (group: Group<Notice>) => Promise<readonly Group<Notice>[]>;
  readonly #line: PendingNotices<Notice>;
  #parts: Group<Notice>[] = [];
  #underWay = 0;
  #startDue = false;

  /** @param send sends a group and answers the parts in which it is to go on; never rejects */
  constructor(
    settings: CoalescerSettings,
    send: (group: Group<Notice>) => Promise<readonly Group<Notice>[]>,
  ) {
    this.#settings = settings;
    this.#send = send;
    this.#line = new PendingNotices(settings.maxContacts);
    settings.stopping.addEventListener('abort', () => this.#start(), { once: true });
  }

  add(notice: Notice): void {
    this.#line.push(notice);
    if (this.#settings.maxContacts === 1) {
      this.#start();
    } else if (!this.#startDue) {
      // Whoever else comes in this turn of the event loop comes before it.
      this.#startDue = true;
      setImmediate(() => this.#start());
    }
  }

  #start(): void {
    this.#startDue = false;
    const { maxRequests, stopping } = this.#settings;
    while (this.#underWay < maxRequests || stopping.aborted) {
      const group = this.#next();
      if (group === undefined) return;
      this.#underWay++;
      void this.#run(group);
    }
  }

  #next(): Group<Notice> | undefined {
    const part = this.#parts.shift();
    if (part !== undefined) return part;
    const notices = this.#line.take();
    return notices.length === 0 ? undefined : { notices, isPart: false };
  }

  async #run(group: Group<Notice>): Promise<void> {
    this.#parts.push(...(await this.#send(group)));
    this.#underWay--;
    this.#start();
  }
}
