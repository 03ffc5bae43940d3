import { expect, it } from 'vitest';
import { mostCommands } from './support/commands.ts';

const line = (at: number, commands: number, ms = 1_000) => ({
  event: 'redis-commands',
  at,
  ms,
  commands,
});
const other = { event: 'attempt', commands: 9_999 };
const gaps = [{ from: 10_000, to: 15_000 }];

it.each([
  ['nothing was counted', [other], NaN],
  ['no such time', [line(20_000, 70)], 0],
  ['a second within the time counts', [line(12_000, 70), line(13_000, 90), other], 90],
  ['what ends as it begins is left out', [line(11_499, 500)], 0],
  ['what begins as it ends is left out', [line(14_501, 500)], 0],
  ['a process that was late is counted by its time', [line(14_000, 300, 2_000)], 150],
])('%s', (_name, lines, most) => {
  expect(mostCommands([{ lines: [] }, { lines }], gaps)).toBe(most);
});
