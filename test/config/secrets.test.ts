import { tmpdir } from 'node:os';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { loadConfig, describeConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { metadataOf } from '../../src/config/variable.ts';
import { ROWS } from '../../src/config/variables.ts';
import { issuesOf as issuesIn, REQUIRED as REQUIRED_ALONE } from './support.ts';
import { temporaryFile } from '../support/temporary.ts';

const SECRET_NAMES = ROWS.filter((row) => metadataOf(row).secret !== undefined).map(
  ({ variable }) => variable,
);
const CANARY = 'cAnArY7f3e';
/** Beside what every worker needs: what some secret needs beside itself. */
const REQUIRED = {
  ...REQUIRED_ALONE,
  EVENT_WEBHOOK_SECRET: 'beside-the-address',
};
const issuesOf = (environment: Environment) => issuesIn({ ...REQUIRED, ...environment });

test('these variables are secret', () => {
  expect(SECRET_NAMES).toStrictEqual([
    'ACCESS_KEY',
    'SECRET_KEY',
    'PROXY_URL',
    'REDIS_URL',
    'REDIS_PASSWORD',
    'REDIS_SENTINEL_PASSWORD',
    'PAYLOAD_KEY',
    'PAYLOAD_KEY_PREVIOUS',
    'FIND_KEY',
    'OPS_USERS',
    'OPS_API_KEYS',
    'OPS_SESSION_KEY',
    'EVENT_WEBHOOK_URL',
    'EVENT_WEBHOOK_SECRET',
  ]);
});

/** A right value of a secret variable, with the canary in its secret part. */
function rightValue(name: string): string {
  if (name === 'OPS_USERS')
    return `kim:viewer:scrypt.15.8.3.${CANARY.padEnd(22, 's')}.${'h'.repeat(43)}`;
  if (name === 'OPS_API_KEYS') return `shop:sender:sha256.${CANARY.padEnd(43, 'k')}`;
  if (name === 'OPS_SESSION_KEY') return CANARY.padEnd(32, 'k');
  if (name.endsWith('_WEBHOOK_URL')) return `https://alerts.example.test/${CANARY}`;
  if (name.endsWith('_WEBHOOK_SECRET')) return CANARY.padEnd(16, 'A');
  if (name.startsWith('PAYLOAD_KEY') || name === 'FIND_KEY') return CANARY.padEnd(43, 'A');
  if (name === 'PROXY_URL') return `http://user:${CANARY}@proxy:3128`;
  return name === 'REDIS_URL' ? `rediss://user:${CANARY}@host:6379` : CANARY;
}

describe.each(SECRET_NAMES)('%s_FILE', (name) => {
  const others = { ...REQUIRED, [name]: undefined };

  test.each(['', '\n', '\r\n', '\n\n'])('is read without a final %j', (end) => {
    const file = temporaryFile(`${rightValue(name)}${end}`);
    const report = describeConfig({ ...others, [`${name}_FILE`]: file });
    expect(report.issues).toStrictEqual([]);
    expect(report.rows.find((row) => row.name === name)?.from).toBe('file');
    const viaFile = loadConfig({ ...others, [`${name}_FILE`]: file });
    expect(viaFile).toStrictEqual(loadConfig({ ...others, [name]: rightValue(name) }));
  });

  test('counts as not set when it is blank, and so does the variable; both are an error', () => {
    const file = temporaryFile(rightValue(name));
    expect(issuesOf({ [name]: rightValue(name), [`${name}_FILE`]: ' ' })).toStrictEqual([]);
    expect(issuesOf({ [name]: '', [`${name}_FILE`]: file })).toStrictEqual([]);
    expect(issuesOf({ [name]: rightValue(name), [`${name}_FILE`]: file })).toStrictEqual([
      { field: name, problem: `is set together with ${name}_FILE: set only one of the two` },
    ]);
  });

  const empty = () => temporaryFile('\n');
  test.each<[() => string, string]>([
    [() => '/nowhere/secret', 'expected a readable file, cannot read /nowhere/secret (ENOENT)'],
    [tmpdir, `expected a readable file, cannot read ${tmpdir()} (EISDIR)`],
    [empty, 'expected a file that holds the value, but FILE is empty'],
  ])('names a file that holds none (%#)', (make, problem) => {
    const file = make();
    const field = `${name}_FILE`;
    const expected = { field, problem: problem.replace('FILE', file) };
    expect(issuesOf({ [name]: undefined, [field]: file })).toStrictEqual([expected]);
  });

  test('names the variable when the file holds something wrong', () => {
    const file = temporaryFile(`${rightValue(name)}\nline two`);
    const [issue] = issuesOf({ [name]: undefined, [`${name}_FILE`]: file });
    expect(issue?.field).toBe(name);
    expect(issue?.problem).toMatch(/got another text of \d+ characters in the file of /);
    expect(issue?.problem).not.toContain(CANARY);
  });

  test('that holds the secret instead of a path does not show it', () => {
    const environment = { ...REQUIRED, [name]: undefined, [`${name}_FILE`]: CANARY };
    expect(everythingShown(environment)).not.toContain(CANARY);
    expect(issuesOf(environment)[0]?.field).toBe(`${name}_FILE`);
  });
});

/** Everything that is shown: what is thrown, and what is printed. */
function everythingShown(environment: Environment): string {
  let thrown: unknown;
  try {
    loadConfig(environment);
  } catch (error) {
    thrown = error;
  }
  return inspect([thrown, describeConfig(environment)], {
    depth: Number.POSITIVE_INFINITY,
    maxStringLength: Number.POSITIVE_INFINITY,
    maxArrayLength: Number.POSITIVE_INFINITY,
    showHidden: true,
  });
}

test('a name without a secret has no *_FILE', () => {
  expect(issuesOf({ API_VERSION_FILE: '/nowhere' })).toStrictEqual([]);
});

describe('a secret is never shown', () => {
  test.each(SECRET_NAMES)('of %s when it is right, also when a rule fails elsewhere', (name) => {
    for (const elsewhere of [{}, { REDIS_SENTINEL_NAME: 'main' }]) {
      const environment = { ...REQUIRED, [name]: rightValue(name), ...elsewhere };
      expect(everythingShown(environment)).not.toContain(CANARY);
    }
  });

  test.each([
    ['ACCESS_KEY', `${CANARY}:`],
    ['ACCESS_KEY', ` ${CANARY}`],
    ['SECRET_KEY', `${CANARY}\n`],
    ['SECRET_KEY', `${CANARY}${'x'.repeat(2000)}`],
    ['REDIS_PASSWORD', `${CANARY}\n`],
    ['REDIS_SENTINEL_PASSWORD', `\u0007${CANARY}`],
    ['REDIS_URL', CANARY],
    ['REDIS_URL', `:${CANARY}@host:6379`],
    ['REDIS_URL', `redis://:${CANARY}#@host:6379`],
    ['REDIS_URL', `redis://host:6379?password=${CANARY}`],
    ['REDIS_URL', `redis://:%zz${CANARY}@host:6379`],
    ['REDIS_URL', `http://:${CANARY}@host:6379`],
    ['REDIS_URL', `redis://:${CANARY}@remote:6379/1`],
    ['REDIS_URL', `redis://${CANARY}@host:6379`],
    ['PROXY_URL', `socks5://user:${CANARY}@proxy`],
    ['PROXY_URL', `user:${CANARY}@proxy:3128`],
    ['BASE_URL', `https://user:${CANARY}@host`],
    ['BASE_URL', `https://host/?key=${CANARY}`],
    ['REDIS_SENTINELS', `:${CANARY}@host:26379`],
  ])('of %s when it is %j', (name, text) => {
    const environment = { ...REQUIRED, [name]: text };
    expect(issuesOf(environment).map(({ field }) => field)).toContain(name);
    expect(everythingShown(environment)).not.toContain(CANARY);
  });

  test('when the file of certificates is a private key', () => {
    const file = temporaryFile(`-----BEGIN PRIVATE KEY-----\n${CANARY}\n`);
    const environment = { ...REQUIRED, TLS_CA_FILE: file };
    expect(issuesOf(environment)).toStrictEqual([
      {
        field: 'TLS_CA_FILE',
        problem: `expected a file of PEM certificates, but ${file} holds none`,
      },
    ]);
    expect(everythingShown(environment)).not.toContain(CANARY);
  });
});
