import { expect, it } from 'vitest';
import { between } from '../../bench/report/tables.ts';

it('a page gets new figures between its markers and keeps what people wrote', () => {
  const page =
    'Before.\n<!-- figures: written by `npm run bench`, do not edit -->\nold\n<!-- figures: end -->\nAfter.';
  const once = between(page, 'figures', 'new\n');
  expect(once).toMatch(
    /^Before\.\n<!-- figures: written[^\n]*-->\n\nnew\n\n<!-- figures: end -->\nAfter\.$/,
  );
  expect(between(once, 'figures', 'new')).toBe(once);
  expect(() => between(page, 'profiles', 'new')).toThrow('no markers for profiles');
});
