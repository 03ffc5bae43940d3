/** Where lines go in the end, as far as the gatherer needs it; pino's own destination is one. */
export interface LineDestination {
  write(text: string): unknown;
  flush(done?: (error?: Error) => void): void;
}

/**
 * Hands the lines of one turn of the event loop to their destination as one text. A group of a hundred
 * jobs ends in one turn and writes a hundred lines; the destination measures all that it has not yet
 * written again with each of them.
 *
 * What is gathered when the process exits is handed over; a process that is killed loses at most the
 * lines of its last turn.
 */
export class LineGatherer implements LineDestination {
  readonly #destination: LineDestination;
  #lines: string[] = [];

  constructor(destination: LineDestination) {
    this.#destination = destination;
    // Before the destination's own listener, which ends it.
    process.prependListener('exit', () => this.#handOver());
  }

  write(line: string): void {
    if (this.#lines.push(line) === 1) setImmediate(() => this.#handOver());
  }

  flush(done?: (error?: Error) => void): void {
    this.#handOver();
    this.#destination.flush(done);
  }

  #handOver(): void {
    if (this.#lines.length === 0) return;
    const text = this.#lines.join('');
    this.#lines = [];
    this.#destination.write(text);
  }
}
