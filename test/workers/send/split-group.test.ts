import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitGroup, type Group } from '../../../workers/send/coalescer.ts';

describe('a refused group', () => {
  /** Sends a group as the service would refuse it while a spoiler is in it; counts the requests. */
  function play(size: number, spoilers: ReadonlySet<number>) {
    const first = { notices: Array.from({ length: size }, (_, at) => at), isPart: false };
    const waiting: Group<number>[] = [first];
    const ended: number[] = [];
    let requests = 0;
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
      requests++;
      const isRefused = group.notices.some((notice) => spoilers.has(notice));
      if (isRefused && group.notices.length > 1) {
        waiting.unshift(...splitGroup(group));
        continue;
      }
      // A notice that is refused is refused alone, so that it fails for its own fault.
      expect(isRefused ? group.notices.length : 1).toBe(1);
      ended.push(...group.notices);
    }
    return { requests, ended };
  }

  it('ends each notice once, in order, whichever is refused', () => {
    const sizes = fc.integer({ min: 1, max: 200 });
    fc.assert(
      fc.property(sizes, fc.array(fc.nat(199)), (size, spoilers) => {
        const { requests, ended } = play(size, new Set(spoilers));
        expect(ended).toEqual(Array.from({ length: size }, (_, at) => at));
        const root = Math.floor(Math.sqrt(size));
        expect(requests).toBeLessThanOrEqual(1 + Math.ceil(size / root) + size);
      }),
    );
  });

  it('costs few requests where one spoils it, and few more than one each where all do', () => {
    const all = new Set(Array.from({ length: 100 }, (_, at) => at));
    expect(play(100, new Set()).requests).toBe(1);
    expect(play(100, new Set([37])).requests).toBe(21);
    expect(play(100, all).requests).toBe(111);
    expect(play(2, all).requests).toBe(3);
  });
});
