import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkNumber } from '../../../src/batch/source/check-number.ts';
import { checkCells, checkContact } from '../../../src/batch/source/check-row.ts';
import { readColumns } from '../../../src/batch/source/column-map.ts';
import { FieldChoice, type FieldMap } from '../../../src/batch/source/sent-columns.ts';
import { contactSchema, MAX_VALUE_LENGTH } from '../../../src/contracts/notice.ts';

const columnsOf = (titles: readonly string[], map?: FieldMap, header = true, passThrough = false) =>
  readColumns(titles, { header, delimiter: ',', map, passThrough });
const allOf = (titles: readonly string[], map?: FieldMap) => columnsOf(titles, map, true, true);
const COLUMNS = allOf(['contact', 'var1', 'name']);
const DEEP: unknown = JSON.parse('['.repeat(5_000) + ']'.repeat(5_000));
const TOO_LONG = 'x'.repeat(MAX_VALUE_LENGTH + 1);
const ALL = new FieldChoice(undefined, true);

describe('a row of cells', () => {
  it('becomes the JSON of a contact', () => {
    expect(checkCells(['010-1234-5678', '"홍"\n', '=cmd|x'], COLUMNS)).toStrictEqual({
      kind: 'contact',
      number: '01012345678',
      json: JSON.stringify({ contact: '01012345678', var1: '"홍"\n', name: '=cmd|x' }),
      repaired: ['separators'],
    });
  });

  it.each([
    [['01000000101'], '', /expected 3 columns, got 1/],
    [['01000000101', 'a', 'b', 'c'], '', /expected 3 columns, got 4/],
    [['x', 'a', 'b'], 'contact', /digits/],
    [['01000000101', 'a\0b', 'c'], 'var1', /U\+0000 at character 2/],
    [['01000000101', 'a', '\u001b[0m'], 'name', /U\+001B at character 1/],
    [['01000000101', TOO_LONG, ''], 'var1', /at most 4096 characters, got 4097/],
  ])('%# is refused with the column and a reason', (cells, field, reason) => {
    expect(checkCells(cells, COLUMNS)).toMatchObject({
      kind: 'refused',
      field,
      reason: expect.stringMatching(reason) as unknown,
    });
  });

  it('is judged as the contract judges the contact', () => {
    const value = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 30 }),
      fc.constantFrom(TOO_LONG.slice(1), TOO_LONG),
    );
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9+ -]{1,22}$/), value, (contact, var1) => {
        const check = checkCells([contact, var1, ''], COLUMNS);
        const direct = contactSchema.safeParse({ contact, var1, name: '' }).success;
        // Stricter only where a spreadsheet or a country code shows, or for control characters.
        const stricter =
          checkNumber(contact).kind === 'refused' || /(?![\t\n\r])\p{Cc}/u.test(var1);
        const agrees =
          check.kind === 'contact'
            ? contactSchema.safeParse(JSON.parse(check.json)).success
            : !direct || stricter;
        expect(agrees).toBe(true);
      }),
    );
  });
});

describe('a contact object', () => {
  it('keeps only contact and varN if nothing else is asked for, and remembers the rest', () => {
    const choice = new FieldChoice(undefined, false);
    const contact = { contact: '01000000101', email: 'a@b.example', var2: 'x', id: '\u0000' };
    expect(checkContact(contact, choice)).toMatchObject({
      json: '{"contact":"01000000101","var2":"x"}',
    });
    expect(choice.columns()).toStrictEqual({ sent: ['contact', 'var2'], leftOut: ['email', 'id'] });
  });

  it('has its fields in the order of a row of cells, also where names are numbers', () => {
    const titles = ['contact', 'x', '2', 'var1', '10'];
    const columns = allOf(titles);
    const contact = { contact: '01000000101', x: 'a', '2': 'b', var1: 'c', '10': 'd' };
    expect(checkContact(contact, ALL)).toStrictEqual(
      checkCells(['01000000101', 'a', 'b', 'c', 'd'], columns),
    );
  });

  it('with a map and everything else passed through, a mapped field comes first', () => {
    const choice = new FieldChoice({ contact: 'phone', var1: 'who' }, true);
    const contact = { phone: '01000000101', who: 'a', var1: 'b', email: 'c' };
    expect(checkContact(contact, choice)).toMatchObject({
      json: '{"contact":"01000000101","var1":"a","email":"c"}',
    });
    expect(choice.columns()).toStrictEqual({ sent: ['phone', 'who', 'email'], leftOut: ['var1'] });
  });

  it('gives only what the map names', () => {
    const names = new FieldChoice({ contact: 'phone', var1: 'who' }, false);
    expect(checkContact({ phone: '01000000101', who: 'a', more: 1 }, names)).toMatchObject({
      json: '{"contact":"01000000101","var1":"a"}',
    });
    expect(checkContact({ phone: '01000000101' }, names)).toMatchObject({ field: 'who' });
  });

  it('gives one field to each name that the map has for it', () => {
    const twice = new FieldChoice(
      { contact: 'phone', var1: 'phone', var2: 'who', var3: 'who' },
      true,
    );
    expect(checkContact({ phone: '01000000101', who: 'a' }, twice)).toMatchObject({
      json: '{"contact":"01000000101","var1":"01000000101","var2":"a","var3":"a"}',
    });
    expect(twice.columns()).toStrictEqual({ sent: ['phone', 'who'], leftOut: [] });
    expect(checkContact({ phone: '01000000101' }, twice)).toMatchObject({ field: 'who' });
    // As a row of cells.
    const columns = columnsOf(['phone', 'who'], { contact: 'phone', var1: 'phone', var2: 'who' });
    expect(checkCells(['01000000101', 'a'], columns)).toMatchObject({
      json: '{"contact":"01000000101","var1":"01000000101","var2":"a"}',
    });
  });

  it.each([
    [null, '', /expected a contact object/],
    [[1], '', /expected a contact object/],
    ['x', '', /expected a contact object/],
    [{}, 'contact', /as text/],
    [{ contact: 1_012_345_678 }, 'contact', /as text/],
    [{ contact: '01000000101', var1: 5 }, 'var1', /expected text/],
    [{ contact: '01000000101', at: new Date(0) }, 'at', /JSON/],
    [{ contact: '01000000101', name: '\ud800' }, 'name', /U\+D800/],
    [JSON.parse('{"contact":"01000000101","__proto__":{}}'), '__proto__', /name is not allowed/],
    [{ contact: '01000000101', constructor: 'x' }, 'constructor', /name is not allowed/],
    [{ contact: '01000000101', deep: DEEP }, 'deep', /levels/],
  ])('%# is refused', (contact: unknown, field, reason) => {
    expect(checkContact(contact, ALL)).toMatchObject({
      kind: 'refused',
      field,
      reason: expect.stringMatching(reason) as unknown,
    });
  });
});

describe('columns', () => {
  it('are read by their names, in any case, with blanks around them', () => {
    const titles = [' Contact', 'VAR1', 'Name', ''];
    const { contact, others, sent } = columnsOf(titles);
    expect([contact.index, others.map(({ json }) => json)]).toStrictEqual([0, [',"var1":']]);
    expect(sent).toStrictEqual({ sent: ['Contact', 'VAR1'], leftOut: ['Name', 'column 4'] });
    const all = allOf(titles);
    expect(all.others.map(({ json }) => json)).toStrictEqual([',"var1":', ',"Name":']);
    expect(all.sent).toStrictEqual({ sent: ['Contact', 'VAR1', 'Name'], leftOut: ['column 4'] });
  });

  it('with a map and everything else passed through, a mapped column comes first', () => {
    const map = { contact: 'Phone', var1: 'Who' };
    const { others, sent } = allOf(['contact', 'Phone', 'var1', 'Who', 'email'], map);
    expect(others.map(({ index, json }) => [index, json])).toStrictEqual([
      [3, ',"var1":'],
      [4, ',"email":'],
    ]);
    expect(sent).toStrictEqual({ sent: ['Phone', 'Who', 'email'], leftOut: ['contact', 'var1'] });
  });

  it('of a file of failures are all sent: they were sent before', () => {
    const { others } = columnsOf(['contact', 'name', 'rejected_state', 'rejected_reason']);
    expect(others.map(({ json }) => json)).toStrictEqual([',"name":']);
  });

  it.each([
    [
      ['name', 'var1'],
      undefined,
      /no column "contact"\. The columns are "name", "var1"\. .* --map contact=TITLE /,
    ],
    [['name', 'Mobile no.'], undefined, /such as --map 'contact=Mobile no\.' \(/],
    [['contact;var1'], undefined, /Is the delimiter ';'\? Then add --delimiter ';' /],
    [['contact\tvar1'], undefined, /Is the delimiter TAB\? Then add --delimiter TAB /],
    [['contact', 'var1', 'VAR1'], undefined, /column 3: there is already a column "var1"/],
    [['contact', '__proto__'], undefined, /column 2: the column name "__proto__" is not allowed/],
    [['contact', 'constructor'], undefined, /column name "constructor" is not allowed/],
    [
      ['contact'],
      { contact: 'contact', var1: 'Name' },
      /takes var1 from column "Name", which does not/,
    ],
    [['contact'], { contact: 2 }, /column "2", which does not exist/],
  ])('%# are refused', (titles, map: FieldMap | undefined, message) => {
    expect(() => columnsOf(titles, map)).toThrow(message);
  });

  it.each([
    [['01000000001', '김민준'], { contact: 1, var1: 2 }],
    [['010-0000-0001', '김민준'], { contact: '1', var1: '2' }],
    [['+82 10-0000-0001', '김민준'], { contact: 1 }],
    [['1.00000E+09', '김민준'], { contact: 1 }],
    [['x', 'x', '01000000001'], { contact: 3, var1: 1 }],
    [['2', '01000000001', '김민준'], { contact: 2, var1: 3 }],
  ])('%j are no titles: refused with the option that reads all of it', (first, map: FieldMap) => {
    const add =
      /^(?!.*(?:0000000|E\+09)).*phone number\. Has the list no titles\? Then add --no-header/;
    expect(() => columnsOf(first, map)).toThrow(add);
  });

  it('without titles and a map: the message names the column and that option', () => {
    expect(() => columnsOf(['01000000001', '김민준'])).toThrow(/--no-header --map contact=1 /);
  });

  it.each([
    [['Phone', 'Name'], 'contact=1'],
    [['', 'Name'], 'contact=1'],
    [['1', '2'], 'contact=1'],
    [['2', '1'], 'contact=2'],
    [['2023', '2024'], 'contact=2023'],
    [['Phone (2026-11-23)', 'Name'], 'contact=1'],
  ])('%j are titles', (titles, map) => {
    expect(columnsOf(titles, { contact: map.slice(8) }).header).toBe(true);
  });

  it('of a list without a header show no number', () => {
    expect(() => columnsOf(['01012345678'], { contact: 1, var1: 3 }, false)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('01012345678') as unknown }),
    );
  });

  it('of a file of refused rows are taken back as they were', () => {
    const columns = columnsOf(['rejected_row', 'rejected_reason', 'contact', 'var1']);
    expect(checkCells(['3', 'because', '01000000101', "'=cmd"], columns)).toMatchObject({
      json: '{"contact":"01000000101","var1":"=cmd"}',
    });
    expect(checkCells(['01000000101', "'=cmd", ''], COLUMNS)).toMatchObject({
      json: '{"contact":"01000000101","var1":"\'=cmd","name":""}',
    });
  });

  it('of a file of refused rows have the positions and titles that they have in the list', () => {
    const added = ['rejected_row', 'rejected_reason'];
    const numbered = columnsOf([...added, '1', '2'], { contact: 2, var1: '1' }, false);
    expect([numbered.header, numbered.titles]).toStrictEqual([true, ['1', '2']]);
    expect([numbered.contact.index, numbered.others[0]?.index]).toStrictEqual([3, 2]);
    const titled = columnsOf([...added, 'Name', "'@phone"], { contact: '2', var1: 1 });
    expect([titled.contact.index, titled.others[0]?.index]).toStrictEqual([3, 2]);
    expect(titled.titles).toStrictEqual(['Name', '@phone']);
    expect(titled.original(['3', 'because', "'=x", "'+82", 'more'])).toStrictEqual([
      '=x',
      '+82',
      'more',
    ]);
    expect(columnsOf([...added, "'@phone"], { contact: '@phone' }).contact.index).toBe(2);
    const all = columnsOf([...added, '1', '2'], { contact: 2 }, false, true);
    expect(all.others).toStrictEqual([]);
  });

  it('of the rows of a file of failures that are refused again are all sent, too', () => {
    const { titles } = columnsOf(['contact', "'@id", 'rejected_state', 'rejected_reason']);
    expect(titles).toStrictEqual(['contact', '@id', 'rejected_state']);
    const again = columnsOf(['rejected_row', 'rejected_reason', ...titles]);
    expect(again.others.map(({ json }) => json)).toStrictEqual([',"@id":']);
    expect(again.titles).toStrictEqual(titles);
  });

  it('of a file of failures have no positions: they are other columns than those of the list', () => {
    const titles = ['contact', 'var1', 'rejected_state', 'rejected_reason'];
    for (const header of [true, false]) {
      expect(() => columnsOf(titles, { contact: 2, var1: 1 }, header)).toThrow(
        /takes contact from column "2", which does not exist\. The columns are "contact", "var1"/,
      );
    }
  });
});
