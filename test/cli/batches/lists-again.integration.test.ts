import { describe, expect, it } from 'vitest';
import { keysOf } from '../../../src/redis/keys.ts';
import { listWorlds } from '../support/list-world.ts';

const { redis, file, world } = listWorlds();
let lists = 0;
const list = (rows: readonly string[], name = `again-${++lists}.csv`) =>
  file(name, `contact,var1\n${rows.join('\n')}\n`);
const FIRST = ['01000000001,Kim', '01000000002,Lee', '01000000003,Park'];
const CORRECTED = ['01000000001,Kim', '01000000002,Lee', '01000000004,Park'];

describe('a list that shares numbers with a recent one of its template', () => {
  it('is refused with the count, and nothing is stored', async () => {
    const { import: importing, ledger } = world();
    await importing(list(FIRST), ['--batch', 'nov']);
    const { code, stdout, stderr } = await importing(list(CORRECTED), ['--batch', 'dec']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /^LIST_REPEATED: 2 of 3 numbers of this list were in batch nov, [\d.]+ m?s ago \([^)]* UTC\); nothing was enqueued\. Add --only-new .* to send to the others, or --again .* to send to all\./m,
    );
    expect(await ledger.read('dec')).toBeUndefined();
    // Another notation of the number, and one other value.
    const cell = list(['010-0000-0001,Kim', '01000000002,Lee', '01000000003,Choi']);
    expect((await importing(cell, ['--batch', 'dec'])).stderr).toMatch(
      /3 of 3 numbers of this list were in batch nov/,
    );
  });

  it('is sent to the others with --only-new, and to all with --again', async () => {
    const { import: importing, contacts } = world();
    await importing(list(FIRST), ['--batch', 'nov']);
    const { code, stdout } = await importing(list(CORRECTED), ['--batch', 'new', '--only-new']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^ {2}left out +2 of recent lists$/m),
    ]);
    expect(await contacts('new')).toEqual([{ contact: '01000000004', var1: 'Park' }]);
    // Its own people are compared from now on, too.
    const next = await importing(list(['01000000004,Park', '01000000005,Han']), ['--batch', 'x']);
    expect(next.stderr).toMatch(/1 of 2 numbers of this list were in batch new/);
    const flags = ['--batch', 'all', '--again'];
    expect((await importing(list([...CORRECTED, '01000000009,Yun']), flags)).code).toBe(0);
    expect(await contacts('all')).toHaveLength(4);
    const none = await importing(list(CORRECTED.toReversed()), ['--batch', 'y', '--only-new']);
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringMatching(
        /3 of 3 numbers of this list were in batch all.* none of them is new\./,
      ),
    ]);
    expect(none.stderr).not.toContain('--only-new');
  });

  it('from standard input, and with FIND_KEY and PAYLOAD_KEY', async () => {
    const env = { FIND_KEY: '11'.repeat(32), PAYLOAD_KEY: '22'.repeat(32) };
    const { import: importing } = world(undefined, env);
    await importing('-', ['--batch', 'nov'], Buffer.from(`contact\n01000000001\n01000000002\n`));
    const { code, stderr } = await importing(list(CORRECTED), ['--batch', 'dec']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/2 of 3 numbers of this list were in batch nov/),
    ]);
    const text = Buffer.from('contact\n01000000003\n01000000002\n');
    const piped = await importing('-', ['--batch', 'dec'], text);
    expect([piped.code, piped.stderr]).toEqual([
      2,
      expect.stringMatching(/1 of 2 numbers of this list were in batch/),
    ]);
  });

  it('is taken once the window is over, or the other was cancelled unsent', async () => {
    const { prefix, import: importing, ledger } = world();
    await importing(list(FIRST), ['--batch', 'nov']);
    await ledger.control('nov', 'cancel');
    expect((await importing(list(CORRECTED), ['--batch', 'dec'])).code).toBe(0);
    const keys = keysOf(prefix, 'default');
    expect(await redis.client.pttl(keys.batchNumbers('dec'))).toBeGreaterThan(600_000_000);
    await redis.client.del(keys.batchNumbers('dec'));
    expect((await importing(list(CORRECTED.slice(1)), ['--batch', 'jan'])).code).toBe(0);
  });

  it('is taken if it is an export of what was not accepted', async () => {
    const { import: importing, contacts } = world();
    await importing(list(FIRST), ['--batch', 'nov']);
    const titles = ['rejected_state', 'rejected_code', 'rejected_reason', 'rejected_at'];
    const row = '"01000000001","Kim","rejected","X","no","2026-11-22T10:53:57.493Z"';
    const failures = file('failed.csv', `contact,var1,${titles.join(',')}\n${row}\n`);
    expect((await importing(failures, ['--batch', 'dec'])).code).toBe(0);
    expect(await contacts('dec')).toEqual([{ contact: '01000000001', var1: 'Kim' }]);
  });
});
