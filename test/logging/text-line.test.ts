import { expect, it } from 'vitest';
import { jsonLine } from '../../src/logging/logger.ts';

it('a line of the log as JSON shows what a terminal would obey, and stays the same value', () => {
  const fields = { code: '\u009b2J\u007f', ['\u202e']: '카나리아 \u2066', plain: 'a\u001b[2J' };
  const shown = jsonLine(`${JSON.stringify(fields)}\n`);
  expect(shown).toBe(
    `{"code":"\\u009b2J\\u007f","\\u202e":"카나리아 \\u2066","plain":"a\\u001b[2J"}\n`,
  );
  expect(JSON.parse(shown)).toEqual(fields);
});
