import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const page = readFileSync('docs/architecture.md', 'utf8');

/** The folders of the list. */
const listed = [...page.matchAll(/^- `((?:src|workers)[\w/-]*)`: ./gm)].map(
  ([, folder = '']) => folder,
);

/** Folders that contain files, of any depth. */
function foldersOf(root: string): string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return [...new Set(entries.filter((entry) => entry.isFile()).map((entry) => entry.parentPath))];
}

describe('docs/architecture.md', () => {
  it('names only files that exist', () => {
    const named = [...page.matchAll(/`((?:src|workers|test|scripts)\/[\w./-]+)`/g)].map(
      ([, file = '']) => file,
    );
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter((file) => !existsSync(file))).toEqual([]);
  });

  it('lists every folder of src and workers, and no other', () => {
    const parents = listed.filter((folder) => listed.some((one) => path.dirname(one) === folder));
    const found = new Set([...foldersOf('src'), ...foldersOf('workers'), ...parents]);
    expect(listed.toSorted()).toEqual([...found].toSorted());
  });
});
