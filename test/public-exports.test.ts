import { expect, it } from 'vitest';
import * as api from '../src/index.ts';

it('exports what is documented, and nothing by accident', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "ERROR_CODES",
      "InputError",
      "NoticeQueue",
      "NoticeQueueError",
      "findContact",
    ]
  `);
});
