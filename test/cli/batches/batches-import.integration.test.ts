import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { ImportReport } from '../../../src/batch/import/import-options.ts';
import { decodeContacts } from '../../../src/payload/chunk-payload.ts';
import { allAccepted, allFailed } from '../../../src/batch/ledger/settlement.ts';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { errorOf, matching, run, start } from '../support/run.ts';
import { temporaryFile } from '../../support/temporary.ts';

const redis = testRedis();
function world() {
  const { prefix, keys, env } = redis.account();
  return { prefix, env, keys, ledger: new Ledger(redis.client, keys) };
}

/** Contacts of a chunk of a batch, the first by default. */
async function contactsOf(ledger: Ledger, batch: string, chunk = '0') {
  const payload = await ledger.payload(batch, chunk);
  return payload === undefined ? [] : decodeContacts(payload);
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
    const { env, ledger } = world();
    const list = temporaryFile(LIST, 'list.csv');
    const line = `import ${list} --template T --chunk 1 --batch b`;
    const words = await run(line, env);
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

    const batch = await ledger.read('b');
    expect(batch).toMatchObject({ phase: 'sending', templateCode: 'T', chunks: 2, queued: 2 });
    expect(await contactsOf(ledger, 'b', '1')).toEqual([{ contact: '01000000001', var1: 'Lee' }]);

    const again = await run(`${line} --json`, env);
    expect([again.code, reportOf(again.stdout).alreadyImported]).toEqual([0, true]);
    const other = await run(`${line} --rate 5 --json`, env);
    expect([other.code, errorOf(other).code]).toEqual([2, 'BATCH_CONFLICT']);
  });

  it('takes standard input, a map, another delimiter, no header, EUC-KR', async () => {
    const { env, ledger } = world();
    const line =
      'import - --template T --delimiter ; --no-header --encoding euc-kr --batch b --map contact=2 --map var1=1 --allow-duplicates --json';
    const list = Buffer.concat([Buffer.from([0xb1, 0xe8]), Buffer.from(';01000000001;x\r\n')]);
    const { code, stderr, stdout } = await run(line, env, list);
    expect([code, stderr]).toEqual([0, '']);
    expect(reportOf(stdout)).toMatchObject({ contacts: 1, refused: 0, batch: 'b' });
    expect(await contactsOf(ledger, 'b')).toEqual([{ contact: '01000000001', var1: '김' }]);
  });

  it('every flag reaches the plan', async () => {
    const { env, keys, ledger } = world();
    const list = temporaryFile('{"contact":"01000000001"}\n', 'plan.ndjson');
    const expires = new Date(Date.now() + 3_600_000).toISOString();
    const line = `import ${list} --template T --delivery at-most-once --expires ${expires} --rate 7 --no-bisect --schedule-type X --chat-sender-key c --sender-key 0212345678 --format ndjson --high-water 5 --batch b`;
    const { code, stderr } = await run(line, env);
    expect([code, stderr.replaceAll(/importing.*\n/g, '')]).toEqual([0, '']);
    expect(await ledger.read('b')).toMatchObject({
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
    for (const shown of ['batch b', 'batches', 'status', 'failures b']) {
      const ended = await run(`${shown} --json`, env);
      expect([shown, ended.code, ended.stdout.includes('0212345678')]).toEqual([shown, 0, false]);
    }
  });

  it('a list that breaks after contacts were queued: exit code 1, and 2 only where nothing was done', async () => {
    const { env } = world();
    const rows = contacts(20_000).map(({ contact }) => `${contact}\n`);
    const list = `contact,var1\n${rows.map((row) => row.replace('\n', ',Kim\n')).join('')}01000000101,"open\n`;
    const line = 'import - --template T --batch b --json';
    const dry = await run(`${line} --dry-run`, env, list);
    expect([dry.code, errorOf(dry).code]).toEqual([2, 'SOURCE_INVALID']);
    const ended = await run(line, env, list);
    expect([ended.code, errorOf(ended)]).toMatchObject([1, { code: 'SOURCE_INVALID' }]);
    expect(errorOf(ended).message).toMatch(/ contacts are already queued, in batch b/);
    const short = await run(`${line} --again`, env, 'contact\n01000000101,"open\n');
    expect([short.code, errorOf(short).code]).toEqual([2, 'SOURCE_INVALID']);
  }, 60_000);

  it('stopped by Ctrl-C: shows the command that continues it, and so it does', async () => {
    const { env } = world();
    const rows = contacts(300).map(({ contact }) => `${contact}\n`);
    const list = temporaryFile(`Phone no\n${rows.join('')}`, 'long.csv');
    const own = ['import', list, '--template', 'T', '--batch', 'b', '--sender-key', 's-1', '--map'];
    const first = start(
      [...own, 'contact=Phone no', '--chunk', '10', '--high-water', '100', '--json'],
      env,
    );
    await first.says(/"waiting":"high-water"/);
    first.stop('SIGINT');
    const ended = await first.ended;
    expect([ended.code, errorOf(ended).code]).toEqual([1, 'IMPORT_STOPPED']);
    const left = await run('batch b', env);
    expect(left.stdout).toMatch(
      /^import +stopped after 100 rows; run the same import again to continue it: "notices import \/.*long.csv .*"$/m,
    );
    const status = await run('status', env);
    expect(status.stdout).toMatch(
      /^ {2}b: 100 of 100 contacts pending: .*; its import stopped: "notices import \/.*" continues it/m,
    );
    // The same list read in another way is another list.
    const other = await run([...own, 'contact=Phone no,var1=Phone no'], env);
    expect(other.code).toBe(2);
    expect(other.stderr).toMatch(/^BATCH_CONFLICT: .* the same list, and other --map;/);
    // The command as it is printed, which has no key.
    const [, command = ''] = /"notices (import [^"]+)"/.exec(left.stdout) ?? [];
    expect(command).toContain(' --sender-key REPLACE-BY-THE-KEY');
    const whole = command.replace('REPLACE-BY-THE-KEY', 's-1');
    const go = [...whole.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);
    const done = await run([...go, '--json'], env);
    expect([done.code, reportOf(done.stdout)]).toMatchObject([0, { contacts: 300, resumed: true }]);
  });
});

describe('rows that are refused', () => {
  const bad = (rows: number, refused: number) =>
    `contact\n${Array.from({ length: rows }, (_, row) => (row < refused ? 'x' : `010000${10_000 + row}`)).join('\n')}\n`;

  it.each([
    ['all', bad(3, 3), '', 1, /No contact was taken/],
    ['many', bad(10, 3), ' --max-refused 2', 1, /3 of 10 rows were rejected/],
    ['percentage', bad(40, 3), ' --max-refused 5%', 1, /more than .* 5% allows/],
    ['few', bad(1, 0), ' --max-refused few', 2, /percentage such as 5%/],
  ])('%s', async (name, text, flags, code, says) => {
    const list = temporaryFile(text, `refused-${name}.csv`);
    const ended = await run(`import ${list} --template T${flags}`, world().env);
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(says)]);
  });
});

describe('notices import --wait', () => {
  it.each([
    ['accepted', 0, /^ {2}accepted +2$/m],
    ['rejected', 1, /^ {2}rejected +BAD +2/m],
  ] as const)('all %s: exit code %i', async (end, code, shown) => {
    const { prefix, env, ledger } = world();
    const list = temporaryFile(LIST, `wait-${end}.csv`);
    const waiting = start(`import ${list} --template T --batch b --wait`, env);
    const isSending = async () => (await ledger.read('b'))?.phase === 'sending';
    await until(isSending, { what: 'the import to end', deadlineMs: 20_000 });
    await matching(() => waiting.stderr(), /no worker is running/);
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
    const { prefix, env, ledger } = world();
    const odd = [{ contact: '01000000009', var1: '=1+1', name: 'a "b",\nc' }];
    const built = await buildBatch(redis.client, prefix, 'old', [odd]);
    await built.settle(0, allFailed('rejected', 'X', 'no'));
    const { stdout } = await run('failures old --csv', env);
    const line = `import ${temporaryFile(stdout, 'again.csv')} --template T --batch new`;
    expect((await run(line, env)).code).toBe(0);
    expect(await contactsOf(ledger, 'new')).toEqual(odd);
  });
});
