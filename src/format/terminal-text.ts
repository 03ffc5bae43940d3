/** What a terminal obeys, or shows as if it were not there: controls, marks of direction, halves of pairs. */
const UNSAFE = /(?![\t\n])[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * A text that is safe for a terminal: what a terminal would obey is shown as the escape that JSON has for it,
 * so that JSON stays the same value. Line breaks and tabs are kept.
 */
export function terminalText(text: string): string {
  return text.replace(UNSAFE, escapeOf);
}

/** The same for one line: a line break in it is shown, too. */
export function terminalLine(text: string): string {
  return terminalText(text).replace(/\n/g, escapeOf);
}

const escapeOf = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
