import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const page = readFileSync('docs/architecture.md', 'utf8');

/** Rows of the table of folders: folder and rule. */
const rows = [...page.matchAll(/^\| `((?:src|workers)[\w/-]*)`\s*\|[^|]*\|([^|]*)\|$/gm)].map(
  ([, folder = '', rule = '']) => ({ folder, rule: rule.trim() }),
);

/** Folders that contain files, of any depth. */
function foldersOf(root: string): string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return [...new Set(entries.filter((entry) => entry.isFile()).map((entry) => entry.parentPath))];
}

interface Layers {
  readonly overrides: readonly {
    readonly files: readonly string[];
    readonly rules: {
      readonly 'no-restricted-imports': readonly [
        string,
        { readonly patterns: readonly { readonly message: string }[] },
      ];
    };
  }[];
}

/** The message of each folder's layer rule. */
function layerRules(): ReadonlyMap<string, string> {
  const { overrides } = JSON.parse(readFileSync('.oxlint-layers.json', 'utf8')) as Layers;
  return new Map(
    overrides.flatMap(({ files, rules }) => {
      const [, { patterns }] = rules['no-restricted-imports'];
      return files.map((file): [string, string] => [
        file.replace(/\/\*.*$/, ''),
        patterns[0]?.message ?? '',
      ]);
    }),
  );
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
    const listed = rows.map(({ folder }) => folder);
    const parents = listed.filter((folder) => listed.some((one) => path.dirname(one) === folder));
    const found = new Set([...foldersOf('src'), ...foldersOf('workers'), ...parents]);
    expect(listed.toSorted()).toEqual([...found].toSorted());
  });

  it('has the rule of each folder as the linter knows it', () => {
    const rules = layerRules();
    const wrong = rows.filter(({ folder, rule }) => {
      const parent = /^as `([\w/-]+)`$/.exec(rule)?.[1];
      if (parent !== undefined) return !folder.startsWith(`${parent}/`) || rules.has(folder);
      return rule !== rules.get(folder === 'src' ? 'src/index.ts' : folder);
    });
    expect(wrong).toEqual([]);
  });

  it('has every term of the code in the glossary', () => {
    const glossary = page.split(/^## /m).find((part) => part.startsWith('Glossary')) ?? '';
    const terms = [...glossary.matchAll(/\*\*([\w /-]+)\*\*/g)].map(([, term = '']) => term);
    expect(new Set(terms).size).toBe(terms.length);
    expect(terms).toEqual(
      expect.arrayContaining(['Notice', 'Outcome', 'Hold', 'Permit', 'Ledger']),
    );
  });
});
