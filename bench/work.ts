import type { Contact, Notice } from '../src/contracts/notice.ts';

/** Contacts of one chunk, in every leg that sends chunks. */
export const CHUNK_SIZE = 1_000;
/** Send calls at the same time, of every contestant. */
export const CONCURRENCY = 50;
const FAMILIES = '김이박최정강조윤장임한오서신';
const FIRSTS = '민서지예하도주시은현수재유태';
const SECONDS = '준연우윤아호원진빈희영훈민경';

/** Numbers are a permutation of the eight digits: they look random, and none comes twice. */
const NUMBERS = 100_000_000;
const STEP = 48_271_317;

/** A hash of the index: the same data in every run, without a pattern that compression could use. */
function scrambled(index: number): number {
  let value = Math.imul(index + 0x9e3779b9, 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 15), 0xc2b2ae35);
  return (value ^ (value >>> 13)) >>> 0;
}

const pick = (from: string, random: number) => from[random % from.length] ?? '';

/** A phone number, a name and an order number, as a shop's list has them; about 40 bytes as CSV. */
export function contactAt(index: number): Required<Pick<Contact, 'contact'>> & {
  readonly contact: string;
  readonly var1: string;
  readonly var2: string;
} {
  const random = scrambled(index);
  const number = String((index * STEP + 12_345_678) % NUMBERS).padStart(8, '0');
  const name = pick(FAMILIES, random) + pick(FIRSTS, random >>> 8) + pick(SECONDS, random >>> 16);
  return {
    contact: `010${number}`,
    var1: name,
    var2: `A-${100_000 + (scrambled(random) % 900_000)}`,
  };
}

/** Notices to one contact each. */
export function notices(count: number, from = 0): Notice[] {
  return Array.from({ length: count }, (_, index) => noticeTo([contactAt(from + index)]));
}

/** A notice to these contacts. */
export function noticeTo(contacts: readonly Contact[]): Notice {
  return { templateCode: 'ORDER_SHIPPED', scheduleType: 'DIRECTLY', contacts: [...contacts] };
}

/** The contacts of a chunk. */
export function chunkAt(chunk: number): Contact[] {
  return Array.from({ length: CHUNK_SIZE }, (_, index) => contactAt(chunk * CHUNK_SIZE + index));
}

/** The same contacts as lines of a CSV list, a thousand at a time. */
export function* csvLines(rows: number): Generator<string, void> {
  yield 'contact,var1,var2\n';
  for (let from = 0; from < rows; from += CHUNK_SIZE) {
    let block = '';
    for (let index = from; index < Math.min(rows, from + CHUNK_SIZE); index++) {
      const { contact, var1, var2 } = contactAt(index);
      block += `${contact},${var1},${var2}\n`;
    }
    yield block;
  }
}
