import type { JobData } from '../../src/contracts/job.ts';

/** A notice that waits to be sent, as far as the line needs to know it. */
export interface PendingNotice {
  /** What notices must have in common to go in one request; undefined for one that goes alone. */
  readonly groupKey: string | undefined;
  /** Numbers of its contacts. */
  readonly numbers: readonly string[];
}

/**
 * How a notice stands in line.
 *
 * Notices go in one request when every field but the contacts is equal, the delivery policy too. One
 * goes alone when it has as many contacts as a request may have, or a number twice, or a contact that
 * is none (producers in other languages), or has been tried before: whatever made the service fail
 * may be in the notice, and is not to spoil others again and again.
 *
 * @param maxContacts of one request; 1 lets every notice go alone
 */
export function pendingNotice(
  data: JobData,
  attemptsMade: number,
  maxContacts: number,
): PendingNotice {
  const { contacts, ...frame } = data.notice;
  const numbers: string[] = [];
  for (const contact of contacts as readonly ({ contact?: unknown } | null)[]) {
    if (typeof contact?.contact === 'string') numbers.push(contact.contact);
  }
  const alone =
    attemptsMade > 0 ||
    contacts.length >= maxContacts ||
    numbers.length < contacts.length ||
    (numbers.length > 1 && new Set(numbers).size < numbers.length);
  const groupKey = alone ? undefined : `${data.delivery ?? ''} ${JSON.stringify(frame)}`;
  return { groupKey: groupKey, numbers };
}

/**
 * The notices that wait to be sent, and which of them go together.
 *
 * The oldest always goes next, with those that are like it, oldest first, up to `maxContacts`. No
 * number stands twice in a group, and no notice overtakes an older one to the same number.
 */
export class PendingNotices<Notice extends PendingNotice> {
  readonly #maxContacts: number;
  #waiting: Notice[] = [];
  /** How many notices of each groupKey wait, so that nobody looks for more than there are. */
  readonly #counts = new Map<string, number>();

  constructor(maxContacts: number) {
    this.#maxContacts = maxContacts;
  }

  push(notice: Notice): void {
    this.#waiting.push(notice);
    this.#count(notice, 1);
  }

  /** Takes the notices that go next, in one request; none where nobody waits. */
  take(): Notice[] {
    const [first] = this.#waiting;
    if (first === undefined) return [];
    const group = [first];
    const passed: Notice[] = [];
    // Numbers of the group, and of older notices that stay behind.
    const numbers = new Set(first.numbers);
    let room = this.#maxContacts - first.numbers.length;
    let alike = this.#countOf(first) - 1;
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
