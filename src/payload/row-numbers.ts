/** Row numbers of a list as text: `2-1001,1003`. */
export class RowNumbers {
  #done = '';
  #from = 0;
  #to = 0;

  /** @param row larger than the one before, or written as a range of its own */
  add(row: number): void {
    if (this.#from > 0 && row === this.#to + 1) {
      this.#to = row;
      return;
    }
    this.#done = this.toString();
    this.#from = row;
    this.#to = row;
  }

  toString(): string {
    if (this.#from === 0) return '';
    const last = this.#from === this.#to ? `${this.#from}` : `${this.#from}-${this.#to}`;
    return this.#done === '' ? last : `${this.#done},${last}`;
  }
}

/** The same of rows that are known. */
export function writeRows(rows: Iterable<number>): string {
  const text = new RowNumbers();
  for (const row of rows) text.add(row);
  return text.toString();
}

/** First and last rows of the ranges of {@link RowNumbers}; of any other text none. */
export function rangesOf(rows: string): readonly (readonly [from: number, to: number])[] {
  return rows.split(',').flatMap((range) => {
    const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
    return from === undefined ? [] : [[Number(from), Number(to)] as const];
  });
}

export function* rowsOf(text: string): Generator<number> {
  for (const [from, to] of rangesOf(text)) for (let row = from; row <= to; row++) yield row;
}

/** The row at a place among them, 0 for the first. */
export function rowAt(text: string, place: number): number | undefined {
  let before = 0;
  for (const [from, to] of rangesOf(text)) {
    if (place - before <= to - from) return from + place - before;
    before += to - from + 1;
  }
  return undefined;
}

export const hasRow = (text: string, row: number): boolean =>
  rangesOf(text).some(([from, to]) => from <= row && row <= to);
