/**
 * Finds which of many pieces a text contains. What it costs depends on the length of the text and on how many
 * lengths the pieces have, not on how many pieces there are.
 */
export class PieceIndex<Owner> {
  readonly #byLength = new Map<number, Map<string, Owner[]>>();

  /** Adds a piece; an empty one is in no text. */
  add(piece: string, owner: Owner): void {
    if (piece === '') return;
    let pieces = this.#byLength.get(piece.length);
    if (pieces === undefined)
      this.#byLength.set(piece.length, (pieces = new Map<string, Owner[]>()));
    const owners = pieces.get(piece);
    if (owners === undefined) pieces.set(piece, [owner]);
    else owners.push(owner);
  }

  /** The owners of each piece in the text; more than once where the piece is. */
  *ownersIn(text: string): Generator<readonly Owner[]> {
    for (const [length, pieces] of this.#byLength) {
      for (let at = 0; at + length <= text.length; at += 1) {
        const owners = pieces.get(text.slice(at, at + length));
        if (owners !== undefined) yield owners;
      }
    }
  }

  /** Whether the text contains one of the pieces. */
  isIn(text: string): boolean {
    return this.ownersIn(text).next().done !== true;
  }
}
