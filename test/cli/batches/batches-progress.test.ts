import { describe, expect, it } from 'vitest';
import { fieldMap } from '../../../src/cli/batches/import-flags.ts';
import { refusedLimit, whyNotTaken } from '../../../src/cli/batches/refused-limit.ts';
import { ProgressBar, progressLine, ProgressRate } from '../../../src/cli/progress.ts';

/** What a bar writes. */
function target(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  return { isTTY, columns, written, write: (text: string) => written.push(text) };
}

describe('progressLine', () => {
  it.each([
    [0, 'x ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   0 %  t'],
    [0.5, 'x ███████████████░░░░░░░░░░░░░░░  50 %  t'],
    [0.999, 'x █████████████████████████████░  99 %  t'],
    [1, 'x ██████████████████████████████ 100 %  t'],
    [1.5, 'x ██████████████████████████████ 100 %  t'],
    [-1, 'x ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   0 %  t'],
    [undefined, 'x  t'],
  ])('%s', (share, line) => {
    expect(progressLine('x', share, 't')).toBe(line);
  });
});

describe('ProgressBar', () => {
  it('writes over its line on a terminal, never wider than it, and once for the same', () => {
    const terminal = target(true, 20);
    const bar = new ProgressBar('sending', terminal);
    bar.show(0.5, 'a');
    bar.show(0.5, 'a');
    bar.show(0.6, 'b');
    bar.end();
    expect(terminal.written).toHaveLength(3);
    const [first = '', , last] = terminal.written;
    expect(first.startsWith('\r\u001B[Ksending ███')).toBe(true);
    expect(first.length).toBe('\r\u001B[K'.length + 19);
    expect(last).toBe('\n');
  });

  it('elsewhere a line an interval, and the end', () => {
    const log = target(false);
    const bar = new ProgressBar('sending', log, 60_000);
    for (const share of [0.1, 0.2, 0.3, 1]) bar.show(share, `${share}`);
    bar.end();
    expect(log.written).toEqual([
      progressLine('sending', 0.1, '0.1') + '\n',
      progressLine('sending', 1, '1') + '\n',
    ]);
  });

  it('nothing was shown: nothing is ended', () => {
    const terminal = target(true);
    new ProgressBar('sending', terminal).end();
    expect(terminal.written).toEqual([]);
  });
});

describe('Pace', () => {
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

  it('is never negative: a redrive takes settled contacts back', () => {
    const progress = new ProgressRate();
    progress.read(0, 100);
    progress.read(1_000, 50);
    expect(progress.rate).toBe(0);
  });
});

describe('fieldMap', () => {
  it.each([
    [[], undefined],
    [['contact=phone,var1=name'], { contact: 'phone', var1: 'name' }],
    [['contact=1', ' var1 = full name '], { contact: '1', var1: 'full name' }],
    [['contact=a=b'], { contact: 'a=b' }],
    [['contact=Phone, mobile'], { contact: 'Phone, mobile' }],
    [
      ['contact=Phone, mobile, var1=a, b,var2=c'],
      { contact: 'Phone, mobile', var1: 'a, b', var2: 'c' },
    ],
  ])('%j', (texts, map) => {
    expect(fieldMap(texts)).toEqual(map);
  });

  it.each([
    ['contact', /field=column/],
    ['=x', /field=column/],
    ['contact=', /field=column/],
    ['contact=a,,var1=b', /field=column/],
    ['contact=a,', /field=column/],
    ['contact=a,contact=b', /contact is named twice/],
  ])('refuses %j', (text, message) => {
    expect(() => fieldMap([text])).toThrow(message);
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
