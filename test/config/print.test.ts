import { expect, test } from 'vitest';
import { loadConfig, describeConfig } from '../../src/config/config.ts';
import { ROWS } from '../../src/config/variables.ts';
import { issuesOf, PEM, REQUIRED } from './support.ts';
import { temporaryFile } from '../support/temporary.ts';

function rowsOf(environment: Record<string, string | undefined>) {
  const { rows } = describeConfig(environment);
  return Object.fromEntries(rows.map(({ name, value, from }) => [name, `${value} (${from})`]));
}

test('there is one row for each variable, in the order of the documentation', () => {
  expect(describeConfig({}).rows.map(({ name }) => name)).toStrictEqual(
    ROWS.map(({ variable }) => variable),
  );
});

test('a row shows the value and where it comes from', () => {
  const secretFile = temporaryFile('x'.repeat(24));
  const certificates = temporaryFile(PEM);
  const rows = rowsOf({
    BASE_URL: 'http://127.0.0.1:8080/',
    ACCESS_KEY: 'access-key',
    SECRET_KEY_FILE: secretFile,
    REDIS_URL: 'rediss://user:secret@host:6380/2',
    PROXY_URL: 'http://user:secret@proxy:3128',
    REDIS_SENTINELS: 'a:26379, [::1]:26379',
    REDIS_SENTINEL_NAME: 'main',
    TLS_CA_FILE: certificates,
    CONCURRENCY: ' 8 ',
    REDIS_PREFIX: '',
  });
  expect(rows).toMatchObject({
    BASE_URL: 'http://127.0.0.1:8080 (environment)',
    INSECURE_HOSTS: 'not set (default)',
    ACCESS_KEY: 'set (10 characters) (environment)',
    SECRET_KEY: 'set (24 characters) (file)',
    REDIS_PASSWORD: 'not set (default)',
    REDIS_URL: 'rediss://user:***@host:6380/2 (environment)',
    PROXY_URL: 'http://user:***@proxy:3128 (environment)',
    REDIS_SENTINELS: 'a:26379,[::1]:26379 (environment)',
    TLS_CA_FILE: `${certificates} (environment)`,
    CONCURRENCY: '8 (environment)',
    REDIS_PREFIX: 'notices (default)',
    LOG_LEVEL: 'info (default)',
  });
});

test('an invalid configuration is shown with what is wrong', () => {
  const environment = {
    ...REQUIRED,
    SECRET_KEY: 'wrong ',
    API_VERSION: 'v3',
    TLS_CA_FILE: '/nowhere/ca.pem',
    REDIS_SENTINEL_NAME: 'main',
  };
  const { issues } = describeConfig(environment);
  expect(issues).toStrictEqual(issuesOf(environment));
  expect(issues.map(({ field }) => field)).toStrictEqual([
    'SECRET_KEY',
    'API_VERSION',
    'TLS_CA_FILE',
    'REDIS_SENTINELS',
  ]);
  expect(rowsOf(environment)).toMatchObject({
    SECRET_KEY: 'another text of 6 characters (not valid) (environment)',
    API_VERSION: '"v3" (not valid) (environment)',
    TLS_CA_FILE: '/nowhere/ca.pem (not valid) (environment)',
    REDIS_SENTINEL_NAME: 'main (environment)',
  });
});

test('issues are empty exactly when the configuration loads', () => {
  expect(describeConfig(REQUIRED).issues).toStrictEqual([]);
  expect(() => loadConfig(REQUIRED)).not.toThrow();
  expect(describeConfig({}).issues.map(({ field }) => field)).toStrictEqual(Object.keys(REQUIRED));
  expect(describeConfig({}, { service: false }).issues).toStrictEqual([]);
});
