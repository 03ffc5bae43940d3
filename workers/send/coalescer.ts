import type { CancelSignal } from '../../src/contracts/cancel-signal.ts';
import type { JobData } from '../../src/contracts/job.ts';

/** A notice that waits to be sent. */
export interface PendingNotice {
  /** What notices must have in common to share a request; undefined for one that is sent alone. */
  readonly groupKey: string | undefined;
  /** Phone numbers of its contacts. */
  readonly numbers: readonly string[];
}

/** Notices that are sent in one request. */
export interface Group<Notice> {
  readonly notices: readonly Notice[];
  /** It is a part of a group that was rejected as a whole. */
  readonly isPart: boolean;
  /** Requests of rejected groups that are still to be counted, with the first notice of this one. */
  readonly uncounted?: number;
}

/** Limits of the requests that a process makes for single notices. */
export interface CoalescerSettings {
  /** Requests under way at the same time: CONCURRENCY. */
  readonly maxRequests: number;
  /** COALESCE_MAX_CONTACTS; 1 sends every notice in a request of its own. */
  readonly maxContacts: number;
  /** Aborted when the worker stops. */
  readonly stopping: CancelSignal;
}

/**
 * Groups the notices of this process into requests. A notice is in one of these states:
 *
 * - waiting: {@link Coalescer.add}.
 * - waiting -> under way: with its group, as soon as fewer than `maxRequests` requests are under way. No
 *   notice is delayed to fill a group: a group consists of notices that were fetched in the same turn of
 *   the event loop, or that had to wait because all requests were under way.
 * - under way -> waiting, before all others: its group was rejected and is sent again in parts.
 * - under way -> ended: `send` has called its `end`.
 *
 * When the worker stops, everything that waits is passed to `send`, which requeues it.
 */
export class Coalescer<Notice extends PendingNotice> {
  readonly #settings: CoalescerSettings;
  readonly #send: (group: Group<Notice>) => Promise<readonly Group<Notice>[]>;
  readonly #pending: PendingNotices<Notice>;
  #parts: Group<Notice>[] = [];
  #underWay = 0;
  #startDue = false;

  /** @param send sends a group and returns the parts in which it is sent again; never rejects */
  constructor(
    settings: CoalescerSettings,
    send: (group: Group<Notice>) => Promise<readonly Group<Notice>[]>,
  ) {
    this.#settings = settings;
    this.#send = send;
    this.#pending = new PendingNotices(settings.maxContacts);
    settings.stopping.addEventListener('abort', () => this.#start());
  }

  /** Adds a notice that waits to be sent. */
  add(notice: Notice): void {
    this.#pending.push(notice);
    if (this.#settings.maxContacts === 1) {
      this.#start();
    } else if (!this.#startDue) {
      // After the other notices of this turn of the event loop.
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
    const notices = this.#pending.take();
    return notices.length === 0 ? undefined : { notices, isPart: false };
  }

  async #run(group: Group<Notice>): Promise<void> {
    this.#parts.push(...(await this.#send(group)));
    this.#underWay--;
    this.#start();
  }
}

/**
 * Describes a notice for grouping.
 *
 * Notices share a request when every field except the contacts is equal, the delivery policy included. A
 * notice is sent alone when it has as many contacts as a request may have, contains a number twice or an
 * invalid contact (producers in other languages), or was tried before: the notice itself may have made the
 * service fail, and must not fail others again and again.
 *
 * @param maxContacts COALESCE_MAX_CONTACTS
 */
export function pendingNotice(
  data: JobData,
  attemptsMade: number,
  maxContacts: number,
): PendingNotice {
  const { contacts } = data.notice;
  const numbers: string[] = [];
  for (const contact of contacts as readonly ({ contact?: unknown } | null)[]) {
    if (typeof contact?.contact === 'string') numbers.push(contact.contact);
  }
  const alone =
    attemptsMade > 0 ||
    contacts.length >= maxContacts ||
    numbers.length < contacts.length ||
    (numbers.length > 1 && new Set(numbers).size < numbers.length);
  return { groupKey: alone ? undefined : groupKeyOf(data), numbers };
}

function groupKeyOf({ notice, delivery }: JobData): string {
  const { contacts: _, ...frame } = notice;
  return `${delivery ?? ''} ${JSON.stringify(frame)}`;
}

/**
 * The notices that wait to be sent.
 *
 * The oldest is always sent next, with those of the same group key, oldest first, up to `maxContacts`. No
 * number occurs twice in a group, and no notice overtakes an older one to the same number.
 */
export class PendingNotices<Notice extends PendingNotice> {
  readonly #maxContacts: number;
  #waiting: Notice[] = [];
  /** Number of waiting notices by group key, so that a search ends with the last one. */
  readonly #counts = new Map<string, number>();

  constructor(maxContacts: number) {
    this.#maxContacts = maxContacts;
  }

  push(notice: Notice): void {
    this.#waiting.push(notice);
    this.#count(notice, 1);
  }

  /** Removes the notices of the next request; an empty list when none waits. */
  take(): Notice[] {
    const [first] = this.#waiting;
    if (first === undefined) return [];
    let room = this.#maxContacts - first.numbers.length;
    let alike = this.#countOf(first) - 1;
    if (room <= 0 || alike <= 0) {
      this.#waiting.shift();
      this.#count(first, -1);
      return [first];
    }
    const group = [first];
    const passed: Notice[] = [];
    // Numbers of the group, and of older notices that stay behind.
    const numbers = new Set(first.numbers);
    let at = 1;
    for (; room > 0 && alike > 0; at++) {
      const notice = this.#waiting[at];
      if (notice === undefined) break;
      const isAlike = notice.groupKey === first.groupKey;
      const fits = notice.numbers.length <= room;
      if (isAlike) alike--;
      if (isAlike && fits && !notice.numbers.some((number) => numbers.has(number))) {
        group.push(notice);
        room -= notice.numbers.length;
      } else {
        passed.push(notice);
      }
      for (const number of notice.numbers) numbers.add(number);
    }
    this.#waiting.splice(0, at, ...passed);
    for (const notice of group) this.#count(notice, -1);
    return group;
  }

  #countOf({ groupKey }: Notice): number {
    return groupKey === undefined ? 1 : (this.#counts.get(groupKey) ?? 0);
  }

  #count({ groupKey }: Notice, by: 1 | -1): void {
    if (groupKey === undefined) return;
    const count = (this.#counts.get(groupKey) ?? 0) + by;
    if (count === 0) this.#counts.delete(groupKey);
    else this.#counts.set(groupKey, count);
  }
}

/**
 * Splits a rejected group: into as many parts as each has notices, and a part that is rejected again into
 * single notices. If one of 100 notices is the cause, this costs 20 more requests, and if all are (a wrong
 * template code), 11 more than sending each alone; sending each alone at once would cost 100 in the first
 * case, halving 99 in the second.
 *
 * The first part carries the requests that are still to be counted.
 */
export function splitGroup<Notice>({
  notices,
  isPart,
  uncounted = 0,
}: Group<Notice>): Group<Notice>[] {
  const size = isPart ? 1 : Math.floor(Math.sqrt(notices.length));
  const parts: Group<Notice>[] = [];
  for (let from = 0; from < notices.length; from += size) {
    const part = { notices: notices.slice(from, from + size), isPart: true };
    parts.push(from === 0 && uncounted > 0 ? { ...part, uncounted } : part);
  }
  return parts;
}
