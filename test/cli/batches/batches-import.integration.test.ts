import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { ImportReport } from '../../../src/batch/import/import-options.ts';
import { decodeContacts } from '../../../src/payload/chunk-payload.ts';
import { allAccepted, allFailed } from '../../../src/batch/ledger/settlement.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { errorOf, run, start, type Env } from '../support/run.ts';

const redis = testRedis();
const envOf = (prefix: string): Env => ({ REDIS_URL: redis.url, REDIS_PREFIX: prefix });
const dir = mkdtempSync(path.join(tmpdir(), 'notices-import-'));
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string | Buffer): string {
  const where = path.join(dir, name);
  writeFileSync(where, text);
  return where;
}

const LIST = 'contact,var1\n01000000000,Kim\n0100-000-0001,Lee\n01000000000,Kim\nnobody,Park\n';

/** Standard output of `--json`: one value a line. */
function events(stdout: string): (Record<string, unknown> & { readonly event: string })[] {
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown> & { event: string });
}

function reportOf(stdout: string): ImportReport {
  return events(stdout).find(({ event }) => event === 'report') as unknown as ImportReport;
}

describe('notices import', () => {
  it('queues the list, and says what it took and what it did not', async () => {
    const prefix = redis.freshPrefix();
    const list = file('list.csv', LIST);
    const args = ['import', list, '--template', 'T', '--chunk', '1', '--batch', 'b'];
    const words = await run(args, envOf(prefix));
    expect([words.code, words.stdout.split('\n')[0]]).toEqual([0, 'Batch b.']);
    expect(words.stdout).toMatch(/^ {2}rows +4$/m);
    expect(words.stdout).toMatch(/^ {2}contacts +2 in 2 chunks/m);
    expect(words.stdout).toMatch(/^ {2}duplicates +1 \(.*row 4\)$/m);
    expect(words.stdout).toMatch(/^ {2}rejected +1, see .*list\.csv\.rejected\.csv$/m);
    expect(words.stdout).toMatch(/^ {2}normalised +1 /m);
    expect(words.stdout).toMatch(/^row 5, contact: expected a phone number/m);
    expect(words.stdout).toContain('notices batch b --watch');
    expect(words.stdout).not.toContain('01000000000');
    expect(readFileSync(`${list}.rejected.csv`, 'utf8')).toContain('"nobody","Park"');

    const ledger = new Ledger(redis.client, keysOf(prefix, 'default'));
    const batch = await ledger.read('b');
    expect(batch).toMatchObject({ phase: 'sending', templateCode: 'T', chunks: 2, queued: 2 });
    const payload = await ledger.payload('b', '1');
    expect(payload === undefined ? [] : await decodeContacts(payload)).toEqual([
      { contact: '01000000001', var1: 'Lee' },
    ]);

    const again = await run([...args, '--json'], envOf(prefix));
    expect([again.code, reportOf(again.stdout).alreadyImported]).toEqual([0, true]);
    const other = await run([...args, '--rate', '5', '--json'], envOf(prefix));
    expect([other.code, errorOf(other).code]).toEqual([2, 'BATCH_CONFLICT']);
  });

  it('takes standard input, a map, another delimiter, no header, EUC-KR', async () => {
    const prefix = redis.freshPrefix();
    const flags = ['--delimiter', ';', '--no-header', '--encoding', 'euc-kr', '--batch', 'b'];
    const more = ['--map', 'contact=2', '--map', 'var1=1', '--allow-duplicates'];
    const name = Buffer.from([0xb1, 0xe8]);
    const list = Buffer.concat([name, Buffer.from(';01000000001;x\r\n')]);
    const importing = start(
      ['import', '-', '--template', 'T', ...flags, ...more, '--json'],
      envOf(prefix),
    );
    importing.stdin.end(list);
    const { code, stderr, stdout } = await importing.ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(reportOf(stdout)).toMatchObject({ contacts: 1, refused: 0, batch: 'b' });
    const ledger = new Ledger(redis.client, keysOf(prefix, 'default'));
    const payload = await ledger.payload('b', '0');
    expect(payload === undefined ? [] : await decodeContacts(payload)).toEqual([
      { contact: '01000000001', var1: '김' },
    ]);
  });

  it('every flag reaches the plan', async () => {
    const prefix = redis.freshPrefix();
    const list = file('plan.ndjson', '{"contact":"01000000001"}\n');
    const expires = new Date(Date.now() + 3_600_000).toISOString();
    const flags = ['--delivery', 'at-most-once', '--expires', expires, '--rate', '7'];
    const more = ['--no-bisect', '--schedule-type', 'X', '--chat-sender-key', 'c'];
    const rest = [
      '--sender-key',
      '0212345678',
      '--format',
      'ndjson',
      '--high-water',
      '5',
      '--batch',
      'b',
    ];
    const args = ['import', list, '--template', 'T', ...flags, ...more, ...rest];
    const { code, stderr } = await run(args, envOf(prefix));
    expect([code, stderr.replaceAll(/importing.*\n/g, '')]).toEqual([0, '']);
    const keys = keysOf(prefix, 'default');
    expect(await new Ledger(redis.client, keys).read('b')).toMatchObject({
      delivery: 'at-most-once',
      expiresAt: Date.parse(expires),
      rate: 7,
      bisect: false,
    });
    expect(JSON.parse((await redis.client.hget(keys.batch('b').record, 'frame')) ?? '{}')).toEqual({
      templateCode: 'T',
      scheduleType: 'X',
      chatSenderKey: 'c',
      senderKey: '0212345678',
    });
    for (const shown of [['batch', 'b'], ['batches'], ['status'], ['failures', 'b']]) {
      const ended = await run([...shown, '--json'], envOf(prefix));
      expect([shown, ended.code, ended.stdout.includes('0212345678')]).toEqual([shown, 0, false]);
    }
  });

  it('a list that breaks after contacts were queued: exit code 1, and 2 only where nothing was done', async () => {
    const prefix = redis.freshPrefix();
    const rows = contacts(20_000).map(({ contact }) => `${contact}\n`);
    const list = `contact,var1\n${rows.map((row) => row.replace('\n', ',Kim\n')).join('')}01000000101,"open\n`;
    const args = ['import', '-', '--template', 'T', '--batch', 'b', '--json'];
    const dry = await run([...args, '--dry-run'], envOf(prefix), list);
    expect([dry.code, errorOf(dry).code]).toEqual([2, 'SOURCE_INVALID']);
    const ended = await run(args, envOf(prefix), list);
    const { code, message } = errorOf(ended);
    expect([ended.code, code, message]).toEqual([
      1,
      'SOURCE_INVALID',
      expect.stringMatching(/ contacts are already queued, in batch b/),
    ]);
    const short = await run([...args, '--again'], envOf(prefix), 'contact\n01000000101,"open\n');
    expect([short.code, errorOf(short).code]).toEqual([2, 'SOURCE_INVALID']);
  }, 60_000);

  it('stopped by Ctrl-C: shows the command that continues it, and so it does', async () => {
    const prefix = redis.freshPrefix();
    const rows = contacts(300).map(({ contact }) => `${contact}\n`);
    const list = file('long.csv', `Phone no\n${rows.join('')}`);
    const read = ['--map', 'contact=Phone no', '--chunk', '10'];
    const flags = ['--template', 'T', '--batch', 'b', ...read, '--high-water', '100'];
    const args = ['import', list, ...flags, '--json'];
    const first = start(args, envOf(prefix));
    await first.says(/"waiting":true/);
    first.stop('SIGINT');
    const ended = await first.ended;
    expect([ended.code, errorOf(ended).code]).toEqual([1, 'IMPORT_STOPPED']);
    const left = await run(['batch', 'b'], envOf(prefix));
    expect(left.stdout).toMatch(
      /^import +stopped after 100 rows; run the same import again to continue it: "notices import \/.*long.csv .*"$/m,
    );
    const status = await run(['status'], envOf(prefix));
    expect(status.stdout).toMatch(
      /^ {2}b: 100 of 100 contacts pending: .*; its import stopped: "notices import \/.*" continues it/m,
    );
    // The same list read in another way is another list.
    const otherMap = await run(
      [...args.slice(0, 6), '--map', 'contact=Phone no,var1=Phone no'],
      envOf(prefix),
    );
    expect([otherMap.code, otherMap.stderr]).toEqual([
      2,
      expect.stringMatching(/^BATCH_CONFLICT: .* the same list, and other --map;/),
    ]);
    // The command as it is printed.
    const [, command = ''] = /"notices (import [^"]+)"/.exec(left.stdout) ?? [];
    const go = [...command.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);
    const done = await run([...go, '--json'], envOf(prefix));
    expect([done.code, reportOf(done.stdout)]).toMatchObject([0, { contacts: 300, resumed: true }]);
  });
});

describe('rows that are refused', () => {
  const bad = (rows: number, refused: number) =>
    `contact\n${Array.from({ length: rows }, (_, row) => (row < refused ? 'x' : `010000${10_000 + row}`)).join('\n')}\n`;

  it.each([
    ['all of them', bad(3, 3), [], 1, /No contact was taken/],
    ['more than the limit', bad(10, 3), ['--max-refused', '2'], 1, /3 of 10 rows were rejected/],
    ['more than the percentage', bad(40, 3), ['--max-refused', '5%'], 1, /more than .* 5% allows/],
    ['a limit that is none', bad(1, 0), ['--max-refused', 'few'], 2, /percentage such as 5%/],
  ])('%s', async (name, text, flags, code, says) => {
    const list = file(`refused-${name.replaceAll(/[^a-z]/g, '-')}.csv`, text);
    const args = ['import', list, '--template', 'T', ...flags];
    const ended = await run(args, envOf(redis.freshPrefix()));
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(says)]);
  });
});

describe('notices import --wait', () => {
  it.each([
    ['accepted', 0, /^ {2}accepted +2$/m],
    ['rejected', 1, /^ {2}rejected +BAD +2/m],
  ] as const)('all %s: exit code %i', async (end, code, shown) => {
    const prefix = redis.freshPrefix();
    const list = file(`wait-${end}.csv`, LIST);
    const waiting = start(
      ['import', list, '--template', 'T', '--batch', 'b', '--wait'],
      envOf(prefix),
    );
    const ledger = new Ledger(redis.client, keysOf(prefix, 'default'));
    await until(async () => (await ledger.read('b'))?.phase === 'sending', {
      what: 'the import to end',
      deadlineMs: 20_000,
    });
    await until(() => waiting.stderr().includes('no worker is running'), {
      what: 'the reason why nothing moves',
      deadlineMs: 20_000,
    });
    // The plan is there already, so this only claims and settles.
    const built = await buildBatch(redis.client, prefix, 'b', [], { importing: true });
    await built.settle(0, end === 'accepted' ? allAccepted() : allFailed('rejected', 'BAD', 'no'));
    const ended = await waiting.ended;
    expect(ended.code).toBe(code);
    expect(ended.stdout).toMatch(shown);
    expect(ended.stdout.includes('notices failures b --csv')).toBe(code === 1);
  });
});

describe('notices failures --csv', () => {
  it('writes a file that can be imported again as it is', async () => {
    const prefix = redis.freshPrefix();
    const odd = [{ contact: '01000000009', var1: '=1+1', name: 'a "b",\nc' }];
    const built = await buildBatch(redis.client, prefix, 'old', [odd]);
    await built.settle(0, allFailed('rejected', 'X', 'no'));
    const { stdout } = await run(['failures', 'old', '--csv'], envOf(prefix));
    const list = file('again.csv', stdout);
    const args = ['import', list, '--template', 'T', '--batch', 'new'];
    expect((await run(args, envOf(prefix))).code).toBe(0);
    const payload = await built.ledger.payload('new', '0');
    expect(payload === undefined ? [] : await decodeContacts(payload)).toEqual(odd);
  });
});
