/**
 * What is under way, where much comes and goes: a place for each, which the next one takes over.
 *
 * Not a Set or a Map. When one of these grows or is tidied up, its old table refers to the new one; once an old table has
 * outlived a collection of young objects, all later tables and what was in them do, too, until the next full
 * collection: what had ended was copied again and again (docs/decisions.md).
 */
export class Slots<Item extends object> {
  readonly #items: (Item | undefined)[] = [];
  readonly #free: number[] = [];

  /** @returns its place, for {@link Slots.remove} */
  add(item: Item): number {
    const slot = this.#free.pop() ?? this.#items.length;
    this.#items[slot] = item;
    return slot;
  }

  /** Frees a place; once for each call of {@link Slots.add}. */
  remove(slot: number): void {
    this.#items[slot] = undefined;
    this.#free.push(slot);
  }

  /** What is there now; it may be removed meanwhile. */
  *[Symbol.iterator](): Generator<Item> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }
}
