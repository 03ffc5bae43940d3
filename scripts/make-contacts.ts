import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';

/**
 * Writes examples/contacts.csv: contacts with Korean names and three variables. The same count
 * always makes the same file. The numbers start with 010-0000, which is not assigned.
 *
 * Usage: node dist/scripts/make-contacts.js [count] [file]
 */

const FAMILY_NAMES = ['김', '이', '박', '최', '정', '강', '조', '윤', '장', '임', '한', '오'];
const FIRST_SYLLABLES = ['민', '서', '지', '예', '하', '도', '주', '시', '은', '현', '수', '재'];
const SECOND_SYLLABLES = ['준', '연', '우', '윤', '아', '호', '원', '진', '빈', '희', '영', '훈'];

/** One line: number, name, order number, pick-up date. */
function row(index: number): string {
  const pick = (list: readonly string[], step: number) =>
    list[Math.floor(index / step) % list.length] ?? '';
  const name = pick(FAMILY_NAMES, 1) + pick(FIRST_SYLLABLES, 12) + pick(SECOND_SYLLABLES, 144);
  const number = `0100${String(index).padStart(7, '0')}`;
  const order = `A-${String(100_000 + ((index * 7_919) % 900_000))}`;
  const date = `${1 + (index % 12)}월 ${1 + (index % 28)}일`;
  return `${number},${name},${order},${date}`;
}

function* lines(count: number): Generator<string> {
  yield 'contact,var1,var2,var3\n';
  for (let index = 0; index < count; index++) yield `${row(index)}\n`;
}

/** Writes `count` contacts; at most ten million, so that the numbers are distinct. */
export async function makeContacts(count: number, file: string): Promise<void> {
  await pipeline(Readable.from(lines(count)), createWriteStream(file));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [count = '10000', file = 'examples/contacts.csv'] = process.argv.slice(2);
  await makeContacts(Number(count), file);
  console.log(`${count} contacts in ${file}`);
}
