import { describe, expect, it } from 'vitest';
import { jsonLine, textLine } from '../../src/logging/logger.ts';

const time = '2026-01-02T03:04:05.678Z';
const line = (fields: object) => textLine(JSON.stringify({ level: 'info', time, ...fields }));

describe('a line of the log as text', () => {
  it('has the time of day, the level, the event and the fields', () => {
    expect(line({ worker: 'w-1', event: 'attempt', job: 'n-7', waitedMs: 12, probe: false })).toBe(
      '03:04:05.678 info  attempt worker=w-1 job=n-7 waitedMs=12 probe=false\n',
    );
  });

  it('has the message behind the event, and values with blanks in quotes', () => {
    expect(line({ event: 'hold', msg: 'queue held', code: 'a b', list: [1] })).toBe(
      '03:04:05.678 info  hold queue held code="a b" list=[1]\n',
    );
  });

  it('shows what a terminal would obey', () => {
    expect(line({ event: 'x', code: '\u001b[2J\u009b1m\n' })).toBe(
      '03:04:05.678 info  x code="\\u001b[2J\\u009b1m\\n"\n',
    );
    expect(line({ event: 'a\u001b[31m' })).toContain('a\\u001b[31m');
  });
});

describe('a line of the log as JSON', () => {
  it('shows what a terminal would obey, and stays the same value', () => {
    const fields = { code: '\u009b2J\u007f', ['\u202e']: '카나리아 \u2066', plain: 'a\u001b[2J' };
    const shown = jsonLine(`${JSON.stringify(fields)}\n`);
    expect(shown).toBe(
      `{"code":"\\u009b2J\\u007f","\\u202e":"카나리아 \\u2066","plain":"a\\u001b[2J"}\n`,
    );
    expect(JSON.parse(shown)).toEqual(fields);
  });
});
