/** A text of any content as one word that a shell runs nothing of, for commands that people copy. */
export function shellWord(text: string): string {
  return /^[\w.:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
