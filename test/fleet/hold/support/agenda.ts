/** What happens later in virtual time: a heap by time. */
export class Agenda {
  readonly #heap: { at: number; run: () => void }[] = [];

  add(at: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ at, run });
    for (let i = heap.length - 1; i > 0;) {
      const up = (i - 1) >> 1;
      if ((heap[up]?.at ?? 0) <= (heap[i]?.at ?? 0)) break;
      this.#swap(i, up);
      i = up;
    }
  }

  next(): { at: number; run: () => void } | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    heap[0] = last;
    for (let i = 0; ;) {
      let least = i;
      for (const down of [2 * i + 1, 2 * i + 2]) {
        if (down < heap.length && (heap[down]?.at ?? 0) < (heap[least]?.at ?? 0)) least = down;
      }
      if (least === i) return first;
      this.#swap(i, least);
      i = least;
    }
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return;
    this.#heap[a] = other;
    this.#heap[b] = one;
  }
}
