import { describe, expect, it } from 'vitest';
import { drawn, watch, type WatchSnapshot } from '../../../src/cli/account/watch.ts';
import { NoticeQueueError } from '../../../src/contracts/errors.ts';

/** Watches one sight after the other, then ends; answers what was written. */
async function watched(
  sights: readonly (WatchSnapshot | Error)[],
  options: { readonly json?: boolean; readonly isTTY?: boolean } = {},
): Promise<{ readonly answered: boolean; readonly written: string[] }> {
  const stop = new AbortController();
  const written: string[] = [];
  let looks = 0;
  const look = (): Promise<WatchSnapshot> => {
    const sight = sights[looks++];
    if (looks === sights.length) setImmediate(() => stop.abort());
    return sight instanceof Error
      ? Promise.reject(sight)
      : Promise.resolve(sight ?? { lines: [], json: {} });
  };
  const answered = await watch(look, {
    title: 'title',
    everyMs: 1,
    json: options.json ?? false,
    signal: stop.signal,
    screen: { isTTY: options.isTTY ?? false, columns: 30, rows: 10 },
    write: (text) => {
      written.push(text);
      return Promise.resolve(true);
    },
  });
  return { answered, written };
}

const seen = (word: string): WatchSnapshot => ({ lines: [word], json: { word } });
const AWAY = new NoticeQueueError('QUEUE_UNAVAILABLE', 'Redis did not answer.');

describe('watch', () => {
  it('without a terminal: a block a look, and no control characters', async () => {
    const { answered, written } = await watched([seen('one'), seen('two')]);
    expect(answered).toBe(true);
    const text = written.join('');
    expect(text).toMatch(/^title, \d\d:\d\d:\d\d\n\none\n\ntitle, .*\n\ntwo\n\n$/);
    expect(text).not.toContain('\u001B');
  });

  it('on a terminal: draws over what stands there, and leaves the last look behind', async () => {
    const { written } = await watched([seen('one'), seen('two')], { isTTY: true });
    const [enter, first, second, leave] = written;
    expect(enter).toBe('\u001B[?1049h\u001B[?25l');
    for (const [frame, word] of [
      [first, 'one'],
      [second, 'two'],
    ] as const) {
      expect(frame?.startsWith('\u001B[Htitle, ')).toBe(true);
      expect(frame?.endsWith(`\n${word}\u001B[K\n\u001B[J`)).toBe(true);
    }
    expect(leave).toBe('\u001B[?25h\u001B[?1049ltwo\n');
  });

  it('with --json: an object a line, an outage as its error', async () => {
    const { answered, written } = await watched([seen('one'), AWAY], { json: true, isTTY: true });
    expect(answered).toBe(false);
    expect(written.map((line) => JSON.parse(line) as object)).toEqual([
      { at: expect.stringMatching(/Z$/) as string, word: 'one' },
      {
        at: expect.stringMatching(/Z$/) as string,
        error: { code: 'QUEUE_UNAVAILABLE', message: AWAY.message },
      },
    ]);
    expect(written.every((line) => line.endsWith('}\n'))).toBe(true);
  });

  it('says that Redis is away, shows what was seen last, and heals', async () => {
    const { answered, written } = await watched([seen('one'), AWAY, AWAY, seen('two')]);
    expect(answered).toBe(true);
    const [, second, third, fourth] = written;
    expect(second).toContain('Redis unavailable since');
    expect(second).toContain('QUEUE_UNAVAILABLE: Redis did not answer.');
    expect(second).toContain('Last known state:\none\n');
    // Since when stays the time at which it began.
    expect(/since (\S+):/.exec(third ?? '')?.[1]).toBe(/since (\S+):/.exec(second ?? '')?.[1]);
    expect(fourth).not.toContain('Redis unavailable');
  });

  it('ends with what is a defect', async () => {
    await expect(watched([new TypeError('a defect'), seen('never')])).rejects.toThrow('a defect');
  });

  it('ends when nobody reads it any more', async () => {
    let looks = 0;
    const answered = await watch(
      () => {
        looks++;
        return Promise.resolve(seen('one'));
      },
      {
        title: 'title',
        everyMs: 1,
        json: false,
        signal: new AbortController().signal,
        screen: {},
        write: () => Promise.resolve(false),
      },
    );
    expect([answered, looks]).toEqual([true, 1]);
  });
});

describe('a frame', () => {
  it('is cut to the width and the height of the terminal', () => {
    const frame = drawn(['a'.repeat(9), '가나다라', 'c', 'd'], {
      isTTY: true,
      columns: 3,
      rows: 3,
    });
    expect(frame).toBe('\u001B[Haaa\u001B[K\n가나다\u001B[K\n\u001B[J');
  });

  it.each([[undefined], [0]])('has a size where the terminal says %s', (size) => {
    const lines = Array.from({ length: 50 }, () => 'x'.repeat(100));
    const frame = drawn(lines, { isTTY: true, columns: size, rows: size }).split('\n');
    expect(frame).toHaveLength(24);
    expect(frame[1]).toBe(`${'x'.repeat(80)}\u001B[K`);
  });
});
