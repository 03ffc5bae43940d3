import { ChunkBuilder } from './chunk-builder.ts';
import type { ChunkWriter } from './chunk-writer.ts';
import { NumberSet } from './number-set.ts';
import type { RejectsFile } from './rejects-file.ts';
import type { RowTally } from './row-tally.ts';
import type { SourcePart, SourceRow, SourceRun } from '../source/source-row.ts';

/**
 * Takes the rows of a list in their order: counts each, passes over numbers that stood before,
 * writes down what is refused, and hands on every chunk that is full.
 */
export class RowProcessor {
  readonly #tally: RowTally;
  readonly #writer: ChunkWriter;
  readonly #rejects: RejectsFile | undefined;
  readonly #chunkSize: number;
  readonly #seen: NumberSet | undefined;
  readonly #chunk: ChunkBuilder;

  constructor(
    tally: RowTally,
    writer: ChunkWriter,
    rejects: RejectsFile | undefined,
    chunkSize: number,
    allowDuplicates: boolean,
  ) {
    this.#tally = tally;
    this.#writer = writer;
    this.#rejects = rejects;
    this.#chunkSize = chunkSize;
    this.#chunk = new ChunkBuilder(writer.wantsNumbers);
    this.#seen = allowDuplicates ? undefined : new NumberSet();
  }

  async take(parts: readonly SourcePart[]): Promise<void> {
    for (const part of parts) {
      if ('block' in part) await this.#takeRun(part);
      else await this.#takeRow(part);
    }
  }

  /** Hands on the last chunk, which may be smaller. */
  async end(): Promise<void> {
    if (this.#chunk.size > 0) await this.#handOn();
  }

  async #takeRow({ line, check, original }: SourceRow): Promise<void> {
    if (check.kind === 'refused') {
      this.#tally.refuse(line, check);
      await this.#rejects?.add(line, check, original);
    } else if (this.#seen?.add(check.number) === false) {
      this.#tally.duplicate(line);
    } else {
      this.#tally.take(check.normalised);
      this.#chunk.addJson(check.json, check.number);
      if (this.#chunk.size === this.#chunkSize) await this.#handOn();
    }
  }

  async #takeRun({ block, from, to }: SourceRun): Promise<void> {
    for (let index = from; index < to; index++) {
      if (this.#seen?.addNumber(block.numbers[index] ?? 0, block.digits[index] ?? 0) === false) {
        this.#tally.duplicate(block.lines[index] ?? 0);
        continue;
      }
      this.#tally.take(false);
      this.#chunk.add(block, index);
      if (this.#chunk.size === this.#chunkSize) await this.#handOn();
    }
  }

  async #handOn(): Promise<void> {
    const { size } = this.#chunk;
    const { json, numbers } = this.#chunk.take();
    await this.#writer.add(json, size, numbers, this.#tally.rows);
  }
}
