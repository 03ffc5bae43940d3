import { describe, expect, it } from 'vitest';
import { Slots } from '../../src/service/http/connections.ts';

describe('slots', () => {
  it('are as many as were in use at the same time', () => {
    const slots = new Slots<object>();
    const places = new Set<number>();
    for (let at = 0; at < 1_000; at++) {
      const [one, other] = [slots.add({}), slots.add({})];
      places.add(one).add(other);
      slots.remove(one);
      slots.remove(other);
    }
    expect(places.size).toBe(2);
    expect([...slots]).toEqual([]);
  });

  it('may be removed while all are visited', () => {
    const slots = new Slots<{ readonly slot: number }>();
    const added = Array.from({ length: 3 }, (_, slot) => ({ slot }));
    for (const one of added) slots.add(one);
    const seen: number[] = [];
    for (const { slot } of slots) {
      seen.push(slot);
      for (const one of [0, 1, 2]) if (one !== slot && !seen.includes(one)) slots.remove(one);
    }
    expect(seen).toEqual([0]);
  });
});
