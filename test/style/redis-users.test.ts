import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** An object of the library that names its Redis itself, not through `connectionAs`. */
const AS_ANYONE = /\bredis: \{\s*url\b/;

/** A program in the process of a test whose environment is not that of `environmentAs`. */
const PROGRAM_AS_ANYONE =
  /\b(?:loadConfig|startNoticeWorker|startWorker)\(\s*\{(?:(?!environmentAs)[^;])*?REDIS_URL: redis\.url/;

/** Files of tests that do so all the same, and why. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'test/batch/import/import-batch.integration.test.ts':
    'one connects to a port where nothing listens',
  'test/canary/support/play.ts': 'its Redis has a password to search for, and no users',
  'test/producer/loaded-modules.integration.test.ts': 'it connects to a port where nothing listens',
  'test/producer/notice-queue-input.integration.test.ts': 'the options are what it tests',
  'test/producer/notice-queue-lifetime.integration.test.ts':
    'one connects to a port where nothing listens',
  'test/producer/notice-queue-outage.integration.test.ts':
    'it stops and starts servers of its own, with passwords of its own',
  'test/redis/permission.integration.test.ts': 'it has users that lack single permissions',
  'test/redis/users.integration.test.ts': 'it has a Redis with the documented users only',
  'test/workers/redis-full.fleet.test.ts': 'it has small Redis servers of its own',
  'test/workers/process/notice-worker.integration.test.ts': 'one is refused before it connects',
};

const files = readdirSync(path.join(ROOT, 'test'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)))
  .filter((file) => file !== 'test/style/redis-users.test.ts');

it('programs of tests connect to Redis as the user of their kind, with the exceptions of the list', () => {
  const found = files.filter((file) => {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    return AS_ANYONE.test(text) || PROGRAM_AS_ANYONE.test(text);
  });
  expect(files.length).toBeGreaterThan(300);
  expect(found.sort()).toEqual(Object.keys(EXCEPTIONS).sort());
});

it.each([
  ['const queue = new NoticeQueue({ redis: { url: redis.url }, prefix });', AS_ANYONE],
  ['new NoticeQueue({\n  redis: {\n    url,\n  },\n})', AS_ANYONE],
  ['loadConfig({\n  REDIS_URL: redis.url,\n  ACCESS_KEY: KEY,\n});', PROGRAM_AS_ANYONE],
])('the search finds %j', (text, pattern) => {
  expect(text).toMatch(pattern);
});
