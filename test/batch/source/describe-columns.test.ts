import { execFileSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readCsv } from '../../../src/batch/source/read-csv.ts';
import { readPairs } from '../../../src/batch/source/sent-columns.ts';

const CSV = { delimiter: ',', header: true, passThrough: false } as const;
const read = (text: string, options: object = {}) =>
  readCsv(Readable.from([Buffer.from(text)]), { ...CSV, ...options });

async function messageOf(text: string): Promise<string> {
  const failure = await read(text).catch((error: unknown) => error);
  return (failure as Error).message;
}

/** The value of the printed `--map`, as a shell passes it on: a shell that is given it runs nothing else. */
async function suggestedBy(text: string): Promise<string> {
  const [, word = ''] = / --map (.+) \(in a program/.exec(await messageOf(text)) ?? [];
  return execFileSync('sh', ['-c', `printf %s ${word}`]).toString();
}

describe('the column with the numbers that an error suggests', () => {
  it.each([
    ['회원 $(printf hacked) 전화,x\n01000000001,1\n', 'contact=회원 $(printf hacked) 전화'],
    ["a`printf b`'s tel,x\n01000000001,1\n", "contact=a`printf b`'s tel"],
    ['이름,집전화,휴대폰\n김,0311234567,01000000001\n', 'contact=휴대폰'],
    ['회사 전화,휴대폰,이름\n023124567,01000000001,김\n', 'contact=휴대폰'],
    ['팩스,휴대번호,이름\n023124567,01000000001,김\n', 'contact=휴대번호'],
    ['Fax,a,b\n023124567,김,01000000001\n', 'contact=b'],
    ['Office,집,a\n023124567,023124568,023124569\n', 'contact=a'],
    ['전화번호,a\n023124567,01000000001\n', 'contact=a'],
    ['집 연락처,연락처\n01000000001,01000000002\n', 'contact=연락처'],
    ['팩스,번호\n023124567,20261128\n', 'contact=팩스'],
    ['이름,집전화,휴대폰\n', 'contact=휴대폰'],
    ['contact no,id,mobile\n1,2,010-0000-0001\n', 'contact=mobile'],
    ['전화번호,연락처\n,01000000001\n,01000000002\n', 'contact=연락처'],
    ['a,b,c\nx,20261128001,1000000001\ny,20261128002,1000000002\n', 'contact=c'],
    // Titles that a map cannot name, or that are not shown.
    ['이름,연락처(예:010-1234-5678)\n김,01000000001\n', 'contact=2'],
    ['휴대폰 20261101,이름\n01000000001,김\n', 'contact=1'],
    [`이름,${'긴 '.repeat(30)}전화\n김,01000000001\n`, 'contact=2'],
    ['이름,\n김,01000000001\n', 'contact=2'],
    ['이름,전화,전화\n김,01000000001,\n', 'contact=2'],
    ['이름,"tel,var1=x"\n김,01000000001\n', 'contact=2'],
    ["rejected_row,rejected_reason,이름,\n2,x,'김,01000000001\n", 'contact=2'],
  ])('%j: %s, which finds it as typed', async (text, suggested) => {
    const map = await suggestedBy(text);
    expect(map).toBe(suggested);
    await read(text, { map: readPairs(map) });
  });

  it('is no position that is the title of another one', async () => {
    expect(await suggestedBy('2,\n1,01000000001\n')).toBe('contact=TITLE');
  });

  it('of a list with a line above its titles names the row that seems to have them', async () => {
    const row = /--map contact=2 .*\. The titles seem to be in row 4: remove the rows above it\./;
    const list = '11월 쿠폰,,\n,,\n이름,휴대폰,등급\n김,01000000001,A\n이,01000000002,B\n';
    expect(await messageOf(`\n${list}`)).toMatch(row);
    expect(await messageOf('쿠폰 20261101\n이름,휴대폰\n김,01000000001\n')).toMatch(/in row 2:/);
    expect(await messageOf('이름,번호\n김,01000000001\n전화 주세요,01000000002\n')).not.toMatch(
      /row/,
    );
  });
});
