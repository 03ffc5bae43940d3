import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const page = readFileSync('docs/testing.md', 'utf8');
const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code);

it('shows nothing but the files of an example, which CI runs', () => {
  const folder = 'examples/jest-ts/src';
  const files = readdirSync(folder).map((file) => readFileSync(`${folder}/${file}`, 'utf8'));
  expect(blocks.toSorted()).toEqual(files.toSorted());
});
