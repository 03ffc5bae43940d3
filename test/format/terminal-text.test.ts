import { describe, expect, it } from 'vitest';
import { terminalLine, terminalText } from '../../src/format/format.ts';

describe('text for a terminal', () => {
  it.each([
    ['a control', '\u001b[2J', '\\u001b[2J'],
    ['a C1 control', '\u009b31m', '\\u009b31m'],
    ['DEL', 'a\u007f', 'a\\u007f'],
    ['half of a pair', '\ud83d', '\\ud83d'],
    ['a mark of direction', 'a\u200fb', 'a\\u200fb'],
    ['the Arabic mark of direction', 'a\u061cb', 'a\\u061cb'],
    ['an override of direction', 'a\u202eb', 'a\\u202eb'],
    ['an isolate', 'a\u2066b', 'a\\u2066b'],
  ])('shows %s as its escape', (_what, text, shown) => {
    expect(terminalText(text)).toBe(shown);
  });

  it('keeps letters, emoji, tabs and line breaks; in a line a break is shown', () => {
    const text = '김하늘\t👩‍👧 e\u0301\nsecond';
    expect(terminalText(text)).toBe(text);
    expect(terminalLine(text)).toBe(text.replace('\n', '\\u000a'));
  });
});
