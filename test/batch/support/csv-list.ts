/** A CSV list of so many contacts, each of another number. */
export function csvList(count: number): string {
  const rows = Array.from({ length: count }, (_, index) => `${numberOf(index)},홍${index}\n`);
  return `contact,var1\n${rows.join('')}`;
}

/** A mobile number for each index. */
export const numberOf = (index: number) => `010${String(10_000_000 + index)}`;
