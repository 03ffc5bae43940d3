import { Readable } from 'node:stream';
import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkCells, type RowCheck } from '../../../src/batch/source/check-row.ts';
import { readColumns } from '../../../src/batch/source/column-map.ts';
import { readCsv } from '../../../src/batch/source/read-csv.ts';
import { COUNTRIES } from '../../../src/format/country.ts';
import type { SourcePart } from '../../../src/batch/source/source-row.ts';
import { piecesOf } from '../support/pieces.ts';

/** A row, as either reader returns it. */
interface Row {
  readonly row: number;
  readonly check: RowCheck;
}

/** What csv-parse makes of a list, each row judged by itself: the slow way that needs no proof. */
function slowly(text: string, delimiter: string): Row[] {
  const records = parse(text, {
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    info: true,
  }) as unknown as { record: string[]; info: { lines: number } }[];
  const [header, ...rows] = records;
  const columns = readColumns(header?.record ?? [], { header: true, delimiter, passThrough: true });
  let breaks = breaksIn((header?.record ?? []).join(''));
  return rows.flatMap(({ record, info }) => {
    breaks += breaksIn(record.join(''));
    if (record.every((cell) => /^[\s\p{Cf}]*$/u.test(cell))) return [];
    return [withoutCut({ row: info.lines - breaks, check: checkCells(record, columns) })];
  });
}

const breaksIn = (text: string) => text.match(/\r\n|\r|\n/g)?.length ?? 0;

/** What our reader makes of it, in pieces of these sizes, one after the other and over again. */
async function ours(text: string, delimiter: string, sizes: readonly number[]): Promise<Row[]> {
  const { rows } = await readCsv(pieces(text, sizes), {
    delimiter,
    header: true,
    passThrough: true,
  });
  const all: Row[] = [];
  for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
    for (const part of next.value) all.push(...rowsOf(part));
  }
  return all.map(withoutCut);
}

/** A last row without the end of its line says so, and csv-parse does not know; empty values are counted by run. */
function withoutCut({ row, check }: Row): Row {
  if (check.kind === 'contact') {
    const { empty: _, ...rest } = check;
    return { row, check: rest };
  }
  return { row, check: { ...check, reason: check.reason.replace(/; the list ends here.*/, '') } };
}

/** Whole characters, as the reader is promised. */
const pieces = (text: string, sizes: readonly number[]) =>
  Readable.from(piecesOf(Array.from(text), sizes));

function rowsOf(part: SourcePart): Row[] {
  if (!('block' in part)) return [{ row: part.row, check: part.check }];
  const { block, from, to } = part;
  return Array.from({ length: to - from }, (_, offset) => {
    const index = from + offset;
    const start = index === 0 ? 0 : block.ends[index - 1];
    const bytes = block.json.subarray(start, block.ends[index]).toString();
    expect(bytes[0]).toBe(',');
    const number = String(block.numbers[index]).padStart(block.digits[index] ?? 0, '0');
    const check = { kind: 'contact', number, json: bytes.slice(1), repaired: [] } as const;
    return { row: block.rows[index] ?? 0, check };
  });
}

const number = fc.oneof(
  { weight: 8, arbitrary: fc.stringMatching(/^010[0-9]{8}$/) },
  fc.constantFrom('', '821012345678', '1012345678', '0082101234567', '010-1234-5678', '０１０１'),
  fc.stringMatching(/^[0-9]{1,21}$/),
);
const value = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('홍길동', 'A-100001', 'a b', '', '😀', '가·나', 'é') },
  fc.constantFrom('\\', '\t', '\u0000', '\u007f', '\u0085', '\u009f', '\u00a0', '=1+1', '\ufeff'),
  fc.constantFrom('"', 'a"b', 'x,y', 'x;y', 'x；y', 'two\nlines', 'two\rlines', '\r'),
  fc.constantFrom('x'.repeat(4_096), '가'.repeat(1_400), 'x'.repeat(4_097)),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);
const cellsOf = fc
  .tuple(number, value, value)
  .chain(([contact, var1, name]) =>
    fc.constantFrom(
      [contact, var1, name],
      [contact, var1, name],
      [contact, var1],
      [contact, var1, name, 'x'],
    ),
  );

/** A cell as a program would write it: in quotes where it must be, or where it likes. */
function written(cell: string, delimiter: string, always: boolean): string {
  const needs = always || cell.includes(delimiter) || /["\r\n]/.test(cell);
  return needs ? `"${cell.replaceAll('"', '""')}"` : cell;
}

const list = fc
  .record({
    delimiter: fc.constantFrom(',', ';', '\t', '|', '；'),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    header: fc.constantFrom(
      ['contact', 'var1', 'name'],
      ['name', 'var1', 'contact'],
      ['var1', 'contact', ''],
    ),
    rows: fc.array(fc.tuple(cellsOf, fc.boolean()), { minLength: 1, maxLength: 30 }),
    ended: fc.boolean(),
    gaps: fc.boolean(),
  })
  .map(({ delimiter, end, header, rows, ended, gaps }) => {
    const lines = rows.map(([cells, always]) =>
      cells.map((cell) => written(cell, delimiter, always)).join(delimiter),
    );
    const text = [header.join(delimiter), ...lines].join(gaps ? end + end : end);
    // A number at the end of the text may be cut, and csv-parse does not know.
    return { delimiter, text: ended || header.at(-1) === 'contact' ? text + end : text };
  });
const sizes = fc.array(fc.constantFrom(1, 2, 3, 7, 50, 1_000, 100_000), {
  minLength: 1,
  maxLength: 4,
});

describe('reading a CSV list', () => {
  it('gives the same rows as csv-parse with a check of each row, for any piece sizes', async () => {
    await fc.assert(
      fc.asyncProperty(list, sizes, async ({ delimiter, text }, cut) => {
        expect(await ours(text, delimiter, cut)).toStrictEqual(slowly(text, delimiter));
      }),
      { numRuns: 400 },
    );
  });

  it('reports the number of a row, whatever line breaks its cells have', async () => {
    const text = 'contact,name\r\n01000000101,"a\r\nb\nc\rd"\r\n\r\n01000000102,e\r\n';
    const rows = await ours(text, ',', [3]);
    expect(rows.map(({ row }) => row)).toStrictEqual([2, 4]);
  });

  it('reads plain rows with the fast path, in few runs', async () => {
    const lines = Array.from(
      { length: 5_000 },
      (_, row) => `0101${String(row).padStart(7, '0')},홍,A-${row}\n`,
    );
    const text = `contact,var1,name\n${lines.join('')}`;
    const { rows } = await readCsv(pieces(text, [30_000]), {
      delimiter: ',',
      header: true,
      passThrough: true,
    });
    let runs = 0;
    let contacts = 0;
    for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
      for (const part of next.value) {
        expect(part).toHaveProperty('block');
        runs++;
        contacts += rowsOf(part).length;
      }
    }
    expect(contacts).toBe(5_000);
    expect(runs).toBeLessThan(20);
  });

  it('reads a long row in small pieces once, and not once for each piece', async () => {
    const [row] = await ours(`contact,var1\n01000000101,"${'x'.repeat(900_000)}"`, ',', [7]);
    expect(row?.check.kind).toBe('refused');
  });

  it('takes a row of as many characters as a file may have, in however many bytes', async () => {
    const rows = await ours(
      `contact,note\n01000000101,"${'😀'.repeat(900_000)}"\n01000000102,`,
      ',',
      [20_000],
    );
    expect(rows.map(({ check }) => check.kind)).toEqual(['contact', 'contact']);
  });

  it('finds exactly the misplaced quotes, for any piece sizes', async () => {
    const text = fc
      .array(fc.constantFrom('"', ',', '\n', '\r\n', 'a', '가'), { minLength: 1, maxLength: 12 })
      .map((parts) => `contact\n${parts.join('')}`);
    await fc.assert(
      fc.asyncProperty(text, sizes, async (content, cut) => {
        const broken = failureOf(() => slowly(content, ',')) !== undefined;
        const messageOf = (sizes: readonly number[]) =>
          ours(content, ',', sizes).then(
            () => undefined,
            (error: unknown) => (error as Error).message,
          );
        const message = await messageOf(cut);
        expect(message !== undefined).toBe(broken);
        expect(await messageOf([1])).toBe(message);
      }),
      { numRuns: 1_000 },
    );
  });
});

/** The reasons of the refused rows, and how many contacts there are; how many values of var1 are empty. */
async function countsOf(text: string, options: object = {}) {
  const csv = { delimiter: ',', header: true, passThrough: false, ...options };
  const { rows } = await readCsv(pieces(text, [100]), csv);
  const counts = { reasons: [] as string[], contacts: 0, empty: 0 };
  for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
    for (const part of next.value) {
      counts.contacts += 'block' in part ? part.to - part.from : 0;
      if ('block' in part) counts.empty += part.empty?.get('var1') ?? 0;
      else if (part.check.kind === 'refused') counts.reasons.push(part.check.reason);
      else {
        counts.contacts++;
        counts.empty += part.check.empty?.length ?? 0;
      }
    }
  }
  return counts;
}

const BLANKS = ['  ', '\t', '\u00a0', '\u3000', '""', '\u200b', '"\u200b "'];

describe('what is not seen', () => {
  it.each([...BLANKS, '\u001a'])('is an empty row, also before the titles: %j', async (blank) => {
    for (const text of [
      `${blank}\ncontact\n${blank}\n01000000101\n${blank}`,
      `${blank},\n${blank}\ncontact,var1\n${blank}\n01000000101,a\n,${blank}\n${blank}`,
    ]) {
      expect(await countsOf(text)).toEqual({ reasons: [], contacts: 1, empty: 0 });
    }
  });

  it.each([...BLANKS, ''])('is an empty value, counted and refused alike: %j', async (blank) => {
    const text = `contact,var1\n01000000101,${blank}\n01000000102,(주) 가\n010-0000-0103,${blank}\n`;
    expect(await countsOf(text)).toEqual({ reasons: [], contacts: 3, empty: 2 });
    const { reasons, contacts } = await countsOf(text, { require: ['var1'] });
    expect([reasons.length, contacts]).toEqual([2, 1]);
  });
});

describe('the end of a list without the end of its line', () => {
  const rows = '01012345678\n'.repeat(300);

  it.each([
    [`contact\n${rows}0105555030`, 1],
    [`var1,contact\na,010-1234-5678\na,010-5555-030`, 1],
    [`contact\n${rows}01055550301`, 0],
    [`contact\n${rows}0105555030\n`, 0],
    [`contact\n${rows}"0105555030"`, 0],
    [`contact,var1\n01012345678,a\n0212345678,b`, 0],
    // A landline after a mobile phone, and a shorter number of the country.
    [`contact\n${rows}0212345678`, 0],
    [`contact\n010-1234-5678\n0212345678`, 0],
    [`contact\n${rows}0212345678\n023124567`, 0, COUNTRIES.KR],
  ])('%#: a number that is shorter than the one before was cut', async (text, count, country?) => {
    const { reasons } = await countsOf(text, { rules: { country } });
    expect(reasons).toEqual(Array(count).fill(expect.stringMatching(/shorter.*was cut off/)));
  });
});

function failureOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
