import { describe, expect, it } from 'vitest';
import { readPairs, shownTitle } from '../../../src/batch/source/sent-columns.ts';

it.each([
  ['order_12345', 'order_12345'],
  ['010-987-654-321', '...-...-...-...'],
  ['010 9876 5432', '... ... ...'],
  ['０１０９８７６５４３２', '...'],
  ['var1', 'var1'],
])('of a title %s, at most five digits are shown', (title, shown) => {
  expect(shownTitle(title)).toBe(shown);
});

describe('a map as text', () => {
  it.each([
    [['contact=phone,var1=name'], { contact: 'phone', var1: 'name' }],
    [['contact=1', ' var1 = full name '], { contact: '1', var1: 'full name' }],
    [['contact=a=b'], { contact: 'a=b' }],
    [['contact=Phone, mobile'], { contact: 'Phone, mobile' }],
    [
      ['contact=Phone, mobile, var1=a, b,var2=c'],
      { contact: 'Phone, mobile', var1: 'a, b', var2: 'c' },
    ],
  ])('%j', (texts, map) => {
    expect(readPairs(texts.join(','))).toEqual(map);
  });

  it.each([
    ['contact', /field=column/],
    ['=x', /field=column/],
    ['contact=', /field=column/],
    ['contact=a,,var1=b', /field=column/],
    ['contact=a,', /field=column/],
    ['contact=a,contact=b', /contact is named twice/],
    ['contact=a,__proto__=b', /__proto__ is no field/],
  ])('refuses %j', (text, message) => {
    expect(readPairs(text)).toMatch(message);
  });
});
