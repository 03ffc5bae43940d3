/** Bytes, or the UTF-8 of characters, in pieces of these sizes, one after the other and over again. */
export function* piecesOf(
  whole: Buffer | readonly string[],
  sizes: readonly number[],
): Generator<Buffer> {
  for (let at = 0, turn = 0; at < whole.length; turn++) {
    const end = at + (sizes[turn % sizes.length] ?? 1);
    yield Buffer.isBuffer(whole)
      ? whole.subarray(at, end)
      : Buffer.from(whole.slice(at, end).join(''));
    at = end;
  }
}
