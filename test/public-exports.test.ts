import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import * as api from '../src/index.ts';
import * as testing from '../src/testing/index.ts';

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

it('exports for tests of applications what is documented', () => {
  expect(Object.keys(testing).sort()).toEqual([
    'FakeNoticeQueue',
    'startEmulator',
    'startTestStack',
    'waitFor',
  ]);
});

it('exports the document of the job format, generated and not empty', () => {
  const file = createRequire(import.meta.url).resolve('notice-queue/job.schema.json');
  expect(file).toMatch(/\/docs\/job\.schema\.json$/);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty(['$comment']);
});
