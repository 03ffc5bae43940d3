import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { KEEP_ACCEPTED_COUNT } from '../../workers/queue/send-worker.ts';
import { documentedLines } from '../support/redis-users.ts';

const read = (file: string) => readFileSync(file, 'utf8');
const page = read('docs/privacy.md');
const section = page.split(/^## /m).find((text) => text.startsWith('What Redis holds\n')) ?? '';
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
const matches = (pattern: string, key: string) =>
  new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(key);

const rows = section
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, what = '', keys = '', , , , users = '']) => ({ what, keys: quoted(keys), users }))
  .filter(({ keys }) => keys.length > 0);

/** The keys of the table in keys.ts, and those of the queues. */
const owned = [
  ...[...read('src/redis/keys.ts').matchAll(/^ \* \| `<tag>:([^`]+)`/gm)].map(([, key = '']) =>
    key.replaceAll(/<\w+>/g, 'x'),
  ),
  'send:1',
  'send:events',
  'chunks:1',
  'chunks:events',
];

/** Users of the ACL file who may read a key, of which `*` stands for any part. */
function readersOf(key: string): string {
  const readers = documentedLines().flatMap((line) => {
    const [, user = '', ...rules] = line.split(' ');
    const patterns = rules.filter((rule) => rule.startsWith('~{notices:*}:'));
    const mayRead = patterns.some((rule) =>
      matches(rule.slice('~{notices:*}:'.length), key.replaceAll('*', 'x')),
    );
    return mayRead ? [user.replace('notices-', '')] : [];
  });
  return readers.join(', ');
}

describe('the table of what Redis holds', () => {
  it('has every key of Redis that this program owns, and those of its queues', () => {
    expect(owned.length).toBeGreaterThan(30);
    const named = quoted(section);
    const missing = owned.filter((key) => !named.some((pattern) => matches(pattern, key)));
    expect(missing).toEqual([]);
  });

  it('names no key that does not exist', () => {
    const named = rows.flatMap(({ keys }) => keys);
    expect(named.filter((pattern) => !owned.some((key) => matches(pattern, key)))).toEqual([]);
  });

  it.each(rows)('names the Redis users who may read it: $what', ({ keys, users }) => {
    expect(keys.map((key) => [key, readersOf(key)])).toEqual(keys.map((key) => [key, users]));
  });

  it('has the number of accepted notices that are kept', () => {
    expect(section).toContain(`the last ${KEEP_ACCEPTED_COUNT.toLocaleString('en')} at most`);
  });
});

it('the pages state the same time for entries of the audit stream', () => {
  const limits = 'at most 1,000,000 changes, and as many searches and downloads';
  for (const file of ['docs/privacy.md', 'docs/ops-server.md']) {
    const text = read(file).replaceAll(/\s+/g, ' ');
    expect([file, text]).toEqual([file, expect.stringContaining(limits)]);
    expect([file, text]).toEqual([file, expect.stringContaining('90 days')]);
  }
});
