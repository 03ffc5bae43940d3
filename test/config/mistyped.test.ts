import { expect, test } from 'vitest';
import { ROWS } from '../../src/config/variables.ts';
import { mistypedVariables } from '../../src/config/read.ts';

test.each([
  ['CONCURENCY', 'CONCURRENCY'],
  ['CONCURRNECY', 'CONCURRENCY'],
  ['REDIS_PERFIX', 'REDIS_PREFIX'],
  ['ACESS_KEY', 'ACCESS_KEY'],
  ['SECRET_KEY_FLIE', 'SECRET_KEY_FILE'],
  ['BASE_URI', 'BASE_URL'],
  ['BATCH_CONCURENCY', 'BATCH_CONCURRENCY'],
])('%s: %s was meant', (given, meant) => {
  expect(mistypedVariables({ [given]: '1' })).toEqual([{ given, meant }]);
});

test.each([
  'PATH',
  'HOME',
  'NODE_ENV',
  'DATABASE_URL',
  'REDIS_HOST',
  'PORT',
  'HOSTNAME',
  'LOGNAME',
  'SSL_CERT_FILE',
])('%s is none of ours', (name) => {
  expect(mistypedVariables({ [name]: '1', [name.toLowerCase()]: '1' })).toEqual([]);
});

test('no variable is taken for a mistyped one', () => {
  const all = Object.fromEntries(ROWS.map(({ variable }) => [variable, '1']));
  expect(mistypedVariables({ ...all, ACCESS_KEY_FILE: '1' })).toEqual([]);
});

test('the variables of a usual machine are none of ours', () => {
  const { PATH, HOME, SHELL, LANG, TERM, USER } = process.env;
  expect(mistypedVariables({ PATH, HOME, SHELL, LANG, TERM, USER })).toEqual([]);
});
