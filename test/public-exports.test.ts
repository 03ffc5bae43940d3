import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import * as api from '../src/index.ts';

it('exports what is documented, and nothing by accident', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "ERROR_CODES",
      "ImportError",
      "InputError",
      "NoticeQueue",
      "NoticeQueueError",
      "findContact",
    ]
  `);
});

it('exports the documents of the job format and of the JSON output, generated and not empty', () => {
  const require = createRequire(import.meta.url);
  for (const name of ['job', 'cli']) {
    const file = require.resolve(`notice-queue/${name}.schema.json`);
    expect(file).toMatch(new RegExp(`/docs/${name}\\.schema\\.json$`));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty(['$comment']);
  }
});
