/** Keeps the last items of a series, in a fixed amount of memory. */
export class LastItems<T> {
  readonly #capacity: number;
  #items: T[] = [];
  /** Index of the oldest item, which the next one replaces once the ring is full. */
  #oldest = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(item: T): void {
    if (this.#items.length < this.#capacity) {
      this.#items.push(item);
    } else if (this.#capacity > 0) {
      this.#items[this.#oldest] = item;
      this.#oldest = (this.#oldest + 1) % this.#capacity;
    }
  }

  /** Oldest first. */
  all(): T[] {
    return [...this.#items.slice(this.#oldest), ...this.#items.slice(0, this.#oldest)];
  }

  clear(): void {
    this.#items = [];
    this.#oldest = 0;
  }
}
