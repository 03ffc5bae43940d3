import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ImportProgressView } from '../../../src/cli/batches/import-progress.ts';
import { refusedLimit, whyNotTaken } from '../../../src/cli/batches/refused-limit.ts';
import { ProgressLines, ProgressRate } from '../../../src/cli/progress.ts';

/** Collects what is written. */
function target() {
  const written: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      written.push(text);
      done();
    },
  });
  return { written, stream };
}

it.each([
  ['memory', 'waiting for memory in Redis'],
  ['high-water', 'waiting: Redis has HIGH_WATER unsent contacts'],
] as const)('an import that waits says why: %s', (waiting, words) => {
  const { written, stream } = target();
  const view = new ImportProgressView(stream, undefined, false);
  const counts = { rows: 7, contacts: 7, duplicates: 0, refused: 0 };
  view.show({ ...counts, bytesRead: 1, totalBytes: 2, waiting });
  view.end();
  expect(written).toEqual([`importing 50 %  7 rows, ${words}\n`]);
});

describe('ProgressLines', () => {
  it('writes a line a second, and the last one at the end', () => {
    const { written, stream } = target();
    const lines = new ProgressLines('sending', stream);
    for (const share of [0.1, 0.2, 1]) lines.show(share, 'a');
    expect(written).toEqual(['sending 10 %  a\n']);
    lines.end();
    lines.end();
    expect(written).toEqual(['sending 10 %  a\n', 'sending 100 %  a\n']);
  });
});

describe('ProgressRate', () => {
  it('is zero until something moved, and has no end then', () => {
    const progress = new ProgressRate();
    expect([progress.rate, progress.timeFor(10)]).toEqual([0, undefined]);
    progress.read(0, 5);
    expect(progress.rate).toBe(0);
    progress.read(1_000, 5);
    expect([progress.rate, progress.timeFor(10)]).toEqual([0, undefined]);
  });

  it('looks back over its window only', () => {
    const progress = new ProgressRate(10_000);
    for (let second = 0; second <= 10; second += 1) progress.read(second * 1_000, second * 100);
    expect([progress.rate, progress.timeFor(500)]).toEqual([100, 5_000]);
    for (let second = 11; second <= 25; second += 1) progress.read(second * 1_000, 1_000);
    expect(progress.rate).toBe(0);
  });
});

describe('--max-refused', () => {
  it.each([
    ['29%', 100, 29],
    ['57%', 100, 57],
    ['58%', 100, 58],
    ['0.7%', 1_000, 7],
    ['0.0001%', 1_000_000, 1],
    ['33.3333%', 1_000_000_000, 333_333_000],
    ['0%', 10, 0],
    ['99.9999%', 1_000_000, 999_999],
    ['7', 10, 7],
  ])('%s of %d rows: %d rows are not too many, one more is', (text, rows, refused) => {
    const limit = refusedLimit(text);
    const report = { rows, contacts: 1, dryRun: false };
    expect(whyNotTaken({ ...report, refused }, limit)).toBeUndefined();
    expect(whyNotTaken({ ...report, refused: refused + 1 }, limit)).toContain(
      `more than --max-refused ${text} allows; the others are in the batch`,
    );
    expect(whyNotTaken({ ...report, refused: refused + 1, dryRun: true }, limit)).toContain(
      `more than --max-refused ${text} allows; nothing was enqueued`,
    );
  });
});
