/** A destination of log lines, such as pino's own. */
export interface LineDestination {
  write(text: string): unknown;
  flush(done?: (error?: Error) => void): void;
}

/**
 * Passes the lines of one turn of the event loop to their destination as one text. A group of a hundred
 * jobs ends in one turn and writes a hundred lines; pino's destination measures all of its unwritten text
 * again with each of them.
 *
 * The lines of the last turn are written when the process exits; a process that is killed loses them.
 */
export class LineGatherer implements LineDestination {
  readonly #destination: LineDestination;
  #lines: string[] = [];

  constructor(destination: LineDestination) {
    this.#destination = destination;
    // Before the destination's own listener, which ends it.
    process.prependListener('exit', () => this.#write());
  }

  write(line: string): void {
    if (this.#lines.push(line) === 1) setImmediate(() => this.#write());
  }

  flush(done?: (error?: Error) => void): void {
    this.#write();
    this.#destination.flush(done);
  }

  #write(): void {
    if (this.#lines.length === 0) return;
    const text = this.#lines.join('');
    this.#lines = [];
    this.#destination.write(text);
  }
}
