import { expect, it } from 'vitest';
import { shownTitle } from '../../../src/batch/source/sent-columns.ts';

it.each([
  ['order_12345', 'order_12345'],
  ['010-987-654-321', '...-...-...-...'],
  ['010 9876 5432', '... ... ...'],
  ['０１０９８７６５４３２', '...'],
  ['var1', 'var1'],
])('of a title %s, at most five digits are shown', (title, shown) => {
  expect(shownTitle(title)).toBe(shown);
});
