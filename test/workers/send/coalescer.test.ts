import { afterEach, describe, expect, it, vi } from 'vitest';
import { Coalescer, type Group } from '../../../workers/send/coalescer.ts';
import type { PendingNotice } from '../../../workers/send/coalescer.ts';
import { signal, type Signal } from '../../support/wait.ts';

interface Named extends PendingNotice {
  readonly name: string;
}

/** A request under way, to be answered by the test. */
interface Request {
  readonly names: string;
  readonly group: Group<Named>;
  readonly answer: Signal<readonly Group<Named>[]>;
}

describe('the coalescer', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  function begin(maxRequests: number, maxContacts: number) {
    const requests: Request[] = [];
    const stopping = new AbortController();
    const coalescer = new Coalescer<Named>(
      { maxRequests, maxContacts, stopping: stopping.signal },
      (group) => {
        const answer = signal<readonly Group<Named>[]>();
        const names = group.notices.map(({ name }) => name).join('');
        requests.push({ names, group, answer });
        return answer.promise;
      },
    );
    const add = (names: string) => {
      for (const name of names) coalescer.add({ name, groupKey: 'a', numbers: [name] });
    };
    const sent = () => requests.map(({ names }) => names);
    const end = async (index: number, parts: readonly Group<Named>[] = []) => {
      requests[index]?.answer.resolve(parts);
      await turn();
    };
    return { requests, stopping, add, sent, end };
  }

  const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

  it('sends a lone notice in the same turn of the event loop, without a timer', async () => {
    // No timer ever fires here.
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
    const { add, sent } = begin(4, 100);
    add('a');
    await turn();
    expect(sent()).toEqual(['a']);
    add('b');
    await turn();
    // Another one is under way: it does not wait for that one either.
    expect(sent()).toEqual(['a', 'b']);
  });

  it('makes a group of what comes in the same turn, up to the bound', async () => {
    const { add, sent } = begin(4, 3);
    add('abcde');
    expect(sent()).toEqual([]);
    await turn();
    expect(sent()).toEqual(['abc', 'de']);
  });

  it('makes a group of what has to wait because all requests are under way', async () => {
    const { add, sent, end } = begin(2, 100);
    for (const name of 'abcdefg') {
      add(name);
      await turn();
    }
    expect(sent()).toEqual(['a', 'b']);
    await end(1);
    expect(sent()).toEqual(['a', 'b', 'cdefg']);
    await end(0);
    add('h');
    await turn();
    expect(sent()).toEqual(['a', 'b', 'cdefg', 'h']);
  });

  it('turned off, sends each at once and alone, never more than the bound', async () => {
    const { add, sent, end } = begin(3, 1);
    add('abcd');
    expect(sent()).toEqual(['a', 'b', 'c']);
    await end(0);
    expect(sent()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('sends the parts of a refused group before anybody else, each as a request of its own', async () => {
    const { requests, add, sent, end } = begin(1, 100);
    add('abc');
    await turn();
    add('d');
    const notices = requests[0]?.group.notices ?? [];
    const parts = notices.map((notice) => ({ notices: [notice], isPart: true }));
    await end(0, parts);
    expect(sent()).toEqual(['abc', 'a']);
    expect(requests[1]?.group.isPart).toBe(true);
    await end(1);
    await end(2);
    await end(3);
    expect(sent()).toEqual(['abc', 'a', 'b', 'c', 'd']);
    expect(requests[4]?.group.isPart).toBe(false);
  });

  it('lets everybody go when the worker stops, so that they are given back', async () => {
    const { stopping, add, sent } = begin(1, 2);
    add('abcde');
    await turn();
    expect(sent()).toEqual(['ab']);
    stopping.abort();
    expect(sent()).toEqual(['ab', 'cd', 'e']);
    add('f');
    await turn();
    expect(sent()).toEqual(['ab', 'cd', 'e', 'f']);
  });
});
