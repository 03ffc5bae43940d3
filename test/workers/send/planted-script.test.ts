import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MISTAKES } from './support/planted-script.ts';

const SCRIPTS = [
  'chunk-scripts',
  'settle-scripts',
  'ledger-prelude',
  'ledger-scripts',
  'open-batch-scripts',
  'action-scripts',
]
  .map((name) =>
    readFileSync(new URL(`../../../src/batch/ledger/scripts/${name}.ts`, import.meta.url)),
  )
  .join('\n');

const PARTS = MISTAKES.flatMap(([, , mistake]) =>
  typeof mistake === 'string' ? [] : [mistake[0]],
);

it('every mistake of the settlement model is planted in a part that the scripts have, once', () => {
  const found = PARTS.map((part) => [part, SCRIPTS.split(part).length - 1]);
  expect(found).toEqual(PARTS.map((part) => [part, 1]));
});
