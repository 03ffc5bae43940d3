/** The chance (0 to 1) that a search found somebody else's contact, in words; nobody needs to know a small one exactly. */
export function describeFalsePositiveRate(chance: number): string {
  const percent = chance * 100;
  return percent < 0.01 ? 'less than 0.01 %' : `${percent.toPrecision(2)} %`;
}
