import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { deprecationWarning } from '../../src/config/deprecated.ts';
import { warnOfVariables } from '../../src/config/warn.ts';
import { describeConfig } from '../../src/config/print.ts';
import { metadataOf } from '../../src/config/variable.ts';
import { ROWS } from '../../src/config/variables.ts';
import { issuesOf, REQUIRED } from './support.ts';

const RENAMED = ROWS.flatMap((row) => {
  const { formerly } = metadataOf(row);
  return formerly === undefined ? [] : [[formerly, row.variable] as const];
});

test('these variables have former names', () => {
  expect(RENAMED).toStrictEqual([
    ['PACE', 'RATE_LIMIT'],
    ['PACE_FLOOR', 'RATE_LIMIT_FLOOR'],
    ['PACE_FALL_PERCENT', 'RATE_LIMIT_DECREASE_PERCENT'],
    ['PACE_RECOVERY_MS', 'RATE_LIMIT_RECOVERY_MS'],
  ]);
});

test('no former name is the name of another variable', () => {
  for (const [formerly] of RENAMED) {
    expect(ROWS.map(({ variable }) => variable)).not.toContain(formerly);
  }
});

test.each(RENAMED)('%s still sets %s, and is reported as deprecated', (formerly, name) => {
  const before = { ...REQUIRED, RATE_LIMIT: '90', [name]: undefined, [formerly]: '60' };
  const now = { ...REQUIRED, RATE_LIMIT: '90', [name]: '60' };
  const [former, current] = formerly.endsWith('_MS')
    ? [
        { ...before, [formerly]: '60000' },
        { ...now, [name]: '60000' },
      ]
    : [before, now];
  const { deprecated, ...config } = loadConfig(former);
  expect({ ...config, deprecated: [] }).toStrictEqual(loadConfig(current));
  expect(deprecated).toStrictEqual([{ formerly, name }]);
  expect(describeConfig(former).rows).toStrictEqual(describeConfig(current).rows);
});

test('a warning names both, and the log line has both as fields', () => {
  const lines: unknown[] = [];
  const logger = { warn: (fields: object, message: string) => lines.push([fields, message]) };
  const variable = { formerly: 'PACE', name: 'RATE_LIMIT' };
  const mistyped = { given: 'CONCURENCY', meant: 'CONCURRENCY' };
  warnOfVariables(logger, { deprecated: [variable], mistyped: [mistyped] });
  expect(lines).toStrictEqual([
    [{ event: 'deprecated-variable', ...variable }, deprecationWarning(variable)],
    [
      { event: 'mistyped-variable', ...mistyped },
      'CONCURENCY is not read by this program: did you mean CONCURRENCY?',
    ],
  ]);
  expect(deprecationWarning({ formerly: 'PACE', name: 'RATE_LIMIT' })).toBe(
    'PACE is deprecated and will be removed: set RATE_LIMIT instead',
  );
});

test('both names with the same value are fine', () => {
  const { deprecated, worker } = loadConfig({ ...REQUIRED, PACE: '40', RATE_LIMIT: ' 40' });
  expect(worker.rateLimit.limit).toBe(40);
  expect(deprecated).toHaveLength(1);
});

test('both names with different values are an error', () => {
  expect(issuesOf({ PACE: '40', RATE_LIMIT: '50' })).toStrictEqual([
    {
      field: 'RATE_LIMIT',
      problem: 'is set together with PACE, its former name, to another value: unset PACE',
    },
  ]);
});

test('a blank former name counts as not set', () => {
  const { deprecated, worker } = loadConfig({ ...REQUIRED, PACE: ' ', RATE_LIMIT: '50' });
  expect(deprecated).toStrictEqual([]);
  expect(worker.rateLimit.limit).toBe(50);
});

test('an invalid value names the variable that was set', () => {
  expect(issuesOf({ PACE: 'fast' })).toStrictEqual([
    {
      field: 'RATE_LIMIT',
      problem:
        'expected a whole number of send requests per second from 0 to 100000, got "fast" (set as PACE)',
    },
  ]);
});

test('rules apply to values under former names', () => {
  expect(issuesOf({ PACE: '5', PACE_FLOOR: '6' }).map(({ field }) => field)).toStrictEqual([
    'RATE_LIMIT_FLOOR',
  ]);
});
