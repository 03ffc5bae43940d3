import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  defaultOf,
  metadataOf,
  parseText,
  withoutDefault,
  type Row,
} from '../../src/config/variable.ts';
import { rowOf, ROWS, VARIABLE_GROUPS } from '../../src/config/variables.ts';
import { writeDuration } from '../../src/format/time.ts';
import { issuesOf } from './support.ts';

const NAMES = ROWS.map(({ variable }) => variable);

test('every variable is in exactly one group', () => {
  const grouped = VARIABLE_GROUPS.flatMap(({ rows }) => rows.map(({ variable }) => variable));
  expect(grouped).toStrictEqual(NAMES);
});

test('every variable documents its meaning and what it expects', () => {
  for (const row of ROWS) {
    const { description, expected } = metadataOf(row);
    expect([row.variable, description, expected]).toStrictEqual([
      row.variable,
      expect.stringMatching(/^[A-Z`].+\.$/),
      expect.stringMatching(/^\S.+$/),
    ]);
  }
});

const PROTOCOLS: Readonly<Record<string, string>> = {
  BASE_URL: 'https:',
  PROXY_URL: 'http:',
  REDIS_URL: 'redis:',
};

/** The schema of a number variable; undefined for others. */
function numberOf(row: Row): z.ZodNumber | undefined {
  const schema = withoutDefault(row);
  return schema instanceof z.ZodNumber ? schema : undefined;
}

/** Texts that are wrong for every row of a kind. */
function wrongTexts(row: Row): string[] {
  const schema = withoutDefault(row);
  const protocol = PROTOCOLS[row.variable];
  if (schema instanceof z.ZodNumber) {
    return [
      ...'abc|1.5|1e3|0x10|NaN|Infinity|1 000|99999999999999999999|-1'.split('|'),
      ...(metadataOf(row).isDuration === true ? ['10S', '10 sec', '1h30m', '1.5h'] : ['10s']),
      String((schema.minValue ?? 0) - 1),
      String((schema.maxValue ?? 0) + 1),
    ];
  }
  if (schema instanceof z.ZodEnum) return ['v3', 'INFO', 'true', schema.options.join(',')];
  if (row.variable === 'INSECURE_HOSTS') return ['host:', 'host:6379', 'redis://a', 'a;b'];
  if (schema instanceof z.ZodObject) return ['host', 'host:', '65536', 'tcp://10.0.0.7:4011'];
  if (schema instanceof z.ZodArray) {
    return ['host', 'host:', ':6379', 'host:0', 'host:65536', 'a:1;b:2', 'a:1,b', '::1:6379'];
  }
  if (metadataOf(row).readsPath === true) return ['/nowhere/at/all.pem'];
  if (protocol !== undefined) {
    const hosts = '|host with space|host:99999|host?query=1|host#fragment|user:%zz@host'.split('|');
    return [
      ...'abc|file:///etc/passwd|api.example.test|//api.example.test'.split('|'),
      ...hosts.map((host) => `${protocol}//${host}`),
    ];
  }
  return ['\u0000', 'line\nbreak'];
}

describe('a wrong value is refused, and its variable named', () => {
  const rows = ROWS.flatMap((row) => wrongTexts(row).map((text) => [row.variable, text] as const));

  test.each(rows)('%s: %j', (name, text) => {
    const issues = issuesOf({ [name]: text }).filter(({ field }) => field === name);
    expect(issues).toHaveLength(1);
    expect(issues[0]?.problem).toMatch(/^expected .+(?:, got |, but |, cannot read )/s);
  });

  test.each(NAMES)('%s: a text of a thousand pages', (name) => {
    const issues = issuesOf({ [name]: 'https:/'.repeat(300_000) });
    expect(issues.map(({ field }) => field)).toContain(name);
    expect(issues[0]?.problem.length).toBeLessThan(300);
  });
});

describe('a blank', () => {
  test.each(NAMES.filter((name) => metadataOf(rowOf(name)).required === undefined))(
    'counts as not set: %s',
    (name) => {
      expect(issuesOf({ [name]: '' })).toStrictEqual([]);
      expect(issuesOf({ [name]: ' \t' })).toStrictEqual([]);
    },
  );

  test.each(NAMES.filter((name) => metadataOf(rowOf(name)).required !== undefined))(
    'is an error where the service is called: %s',
    (name) => {
      for (const blank of [undefined, '', '  ']) {
        const [issue, ...others] = issuesOf({ [name]: blank });
        expect(others).toStrictEqual([]);
        expect(issue?.field).toBe(name);
        expect(issue?.problem).toContain('got nothing');
      }
    },
  );
});

const NUMBERS = ROWS.flatMap((row) => {
  const schema = numberOf(row);
  return schema === undefined ? [] : [{ name: row.variable, row, schema }];
});

test.each(NUMBERS)(
  'both bounds are allowed, and the default lies between them: $name',
  ({ row, schema: { minValue, maxValue } }) => {
    if (minValue === null || maxValue === null) throw new Error('a bound is missing');
    expect(parseText(row, String(minValue)).data).toBe(minValue);
    expect(parseText(row, String(maxValue)).data).toBe(maxValue);
    expect(defaultOf(row) ?? minValue).toBeGreaterThanOrEqual(minValue);
    expect(defaultOf(row) ?? minValue).toBeLessThanOrEqual(maxValue);
  },
);

test('a default is a value that a program may pass', () => {
  for (const row of ROWS.filter((one) => defaultOf(one) !== undefined)) {
    expect(row.parse(defaultOf(row))).toStrictEqual(defaultOf(row));
  }
});

const DURATIONS = NAMES.filter((name) => metadataOf(rowOf(name)).isDuration === true);

test('every variable in milliseconds is a duration', () => {
  expect(DURATIONS).toStrictEqual(
    NAMES.filter((name) => name.endsWith('_MS') || name === 'REPEAT_WINDOW'),
  );
});

test.each(DURATIONS)(
  'a duration may have a unit, and a number alone is milliseconds: %s',
  (name) => {
    const value = Number(defaultOf(rowOf(name)) ?? 60_000);
    const written = writeDuration(value);
    expect(written).toMatch(/^\d+[smhd]$/);
    for (const text of [written, `${value}ms`, String(value)]) {
      expect([text, parseText(rowOf(name), text).data]).toStrictEqual([text, value]);
    }
  },
);

describe('particular texts', () => {
  test.each([
    ['ACCOUNT', 'Default'],
    ['REDIS_PREFIX', 'a{b}'],
    ['REDIS_USERNAME', 'two words'],
    ['REDIS_URL', 'redis://host/notanumber'],
    ['ACCESS_KEY', 'with:colon'],
    ['ACCESS_KEY', ' led by a space'],
    ['SECRET_KEY', 'followed by a space '],
    ['SECRET_KEY', '한글'],
    ['TOKEN_PATH', 'api/v2/token'],
    ['TOKEN_PATH', '//evil.example.test/token'],
    ['SEND_WINDOWS', 'P_*=08:00-21:00'],
    ['SEND_PATH', '/send?x=1'],
    ['SEND_PATH', '/\\evil.example.test'],
    ['CHAT_SENDER_KEY_FIELD', 'contacts'],
    ['CHAT_SENDER_KEY_FIELD', 'senderKey'],
    ['CHAT_SENDER_KEY_FIELD', '__proto__'],
    ['BASE_URL', 'https://user@host'],
    ['PROXY_URL', 'http://proxy:3128/path'],
    ['OPS_ADDRESS', 'http://host'],
    ['OPS_USERS', 'kim:admin:scrypt.15.8.3.c2FsdHNhbHRzYWx0c2FsdA.' + 'h'.repeat(43)],
    ['OPS_USERS', 'kim:viewer:password'],
    ['OPS_API_KEYS', 'shop:sender:plain-key'],
    ['OPS_SESSION_KEY', 'too short'],
    ['OPS_HOST_NAMES', 'https://ops.example.test'],
    ['OPS_TRUSTED_PROXY', '10.0.0.256'],
    ['OPS_TRUSTED_PROXY', '10.0.0.0/33'],
    ['OPS_TRUSTED_PROXY', 'proxy.example.test'],
    ['PROXY_URL', 'socks5://proxy:1080'],
  ])('%s refuses %j', (name, text) => {
    expect(issuesOf({ [name]: text }).map(({ field }) => field)).toStrictEqual([name]);
  });

  test.each([
    ['BASE_URL', 'HTTPS://API.Example.test/', 'https://api.example.test'],
    ['BASE_URL', 'https://host:443/base//', 'https://host/base'],
    ['REDIS_URL', 'redis://user:p%40ss@host:6380/3', 'redis://user:p%40ss@host:6380/3'],
    ['REDIS_URL', 'rediss://[::1]:6379', 'rediss://[::1]:6379'],
    ['PROXY_URL', 'http://user:pass@proxy:3128/', 'http://user:pass@proxy:3128'],
    ['CHAT_SENDER_KEY_FIELD', 'brandSenderKey', 'brandSenderKey'],
    ['INSECURE_HOSTS', 'emulator', ['emulator']],
    ['HEALTH_ADDRESS', '9464', { host: '127.0.0.1', port: 9464 }],
    ['OPS_ADDRESS', '[::]:0', { host: '::', port: 0 }],
    [
      'REDIS_SENTINELS',
      'a:1, [::1]:2 ,',
      [
        { host: 'a', port: 1 },
        { host: '::1', port: 2 },
      ],
    ],
    ['SECRET_KEY', 'two words', 'two words'],
  ] as const)('%s reads %j', (name, text, value) => {
    expect(parseText(rowOf(name), text).data).toStrictEqual(value);
  });
});
