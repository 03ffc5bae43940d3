/** Usual delimiters. */
export const DELIMITERS = [';', '\t', ',', '|'] as const;

/** What to do if a list has another delimiter than the option. @param other one of {@link DELIMITERS} */
export function delimiterHint(other: string): string {
  const shown = other === '\t' ? 'TAB' : `'${other}'`;
  return `Is the delimiter ${shown}? Then add --delimiter ${shown} (in a program: the option delimiter).`;
}
