import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Receipt } from '../../../src/index.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { storedJob, waitingIds } from '../../producer/support/stored-jobs.ts';
import { testRedis } from '../../support/redis.ts';
import { errorOf, run, start, type Env } from '../support/run.ts';

const redis = testRedis();
const dir = mkdtempSync(path.join(tmpdir(), 'notices-cli-'));
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string | Buffer): string {
  const where = path.join(dir, name);
  writeFileSync(where, text);
  return where;
}

const envOf = (prefix: string): Env => ({ REDIS_URL: redis.url, REDIS_PREFIX: prefix });
async function inFours<Row>(
  rows: readonly Row[],
  check: (row: Row) => Promise<void>,
): Promise<void> {
  const left = rows.values();
  const lane = async () => {
    for (const row of left) await check(row);
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
}

const NOTICE = {
  templateCode: 'T',
  at: 'x',
  contacts: [{ contact: '0101', var1: '김', name: '1' }],
};

describe('notices send', () => {
  it('queues what the flags say, and answers the receipt', async () => {
    const prefix = redis.freshPrefix();
    const flags = [
      '--template',
      'T',
      '--contact',
      '0101',
      '--contact',
      '0102',
      '--var',
      'var1=a=b',
    ];
    const more = ['--sender-key', 's', '--chat-sender-key', 'c', '--schedule-type', 'X'];
    const { code, stdout, stderr } = await run(
      ['send', ...flags, ...more, '--json'],
      envOf(prefix),
    );
    expect([code, stderr]).toEqual([0, '']);
    const receipt = JSON.parse(stdout) as Receipt;
    expect(receipt).toMatchObject({ contacts: 2, duplicate: false });
    const { data } = await storedJob(redis.client, prefix, receipt.id);
    expect(data.notice).toEqual({
      templateCode: 'T',
      scheduleType: 'X',
      chatSenderKey: 'c',
      senderKey: 's',
      contacts: [
        { contact: '0101', var1: 'a=b' },
        { contact: '0102', var1: 'a=b' },
      ],
    });
  });

  it('says so in words, and that a repeated key queued nothing', async () => {
    const prefix = redis.freshPrefix();
    const args = ['send', '--template', 'T', '--contact', '0101', '--idempotency-key', 'k'];
    const first = await run(args, envOf(prefix));
    expect([first.code, first.stdout]).toEqual([
      0,
      expect.stringMatching(/^Enqueued n-\S+: 1 contact\.\n$/),
    ]);
    const again = await run(args, envOf(prefix));
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringContaining('nothing was enqueued'),
    ]);
    expect(await waitingIds(redis.client, prefix)).toHaveLength(1);
    const other = await run([...args, '--contact', '0102', '--json'], envOf(prefix));
    expect([other.code, errorOf(other).code]).toEqual([2, 'IDEMPOTENCY_CONFLICT']);
  });

  it('with --json, says in one line of JSON that it is not in the audit stream', async () => {
    const prefix = redis.freshPrefix();
    await redis.client.set(keysOf(prefix, 'default').audit, 'no stream');
    const args = ['send', '--template', 'T', '--contact', '0101'];
    const json = await run([...args, '--json'], envOf(prefix));
    expect([json.code, JSON.parse(json.stderr)]).toEqual([
      0,
      { warning: { message: 'it is not in the audit stream (QUEUE_REFUSED)' } },
    ]);
    const words = await run(args, envOf(prefix));
    expect([words.code, words.stderr]).toEqual([
      0,
      'warning: it is not in the audit stream (QUEUE_REFUSED)\n',
    ]);
  });

  it.each([
    { how: 'a file', path: () => file('good.json', JSON.stringify(NOTICE)), stdin: '' },
    {
      how: 'a file with a BOM',
      path: () => file('bom.json', `\uFEFF${JSON.stringify(NOTICE)}`),
      stdin: '',
    },
    { how: 'standard input', path: () => '-', stdin: JSON.stringify(NOTICE) },
  ])('takes a whole notice from $how', async (row) => {
    const prefix = redis.freshPrefix();
    const args = ['--json', 'send', '--file', row.path(), '--delay', '1m', '--priority', '2'];
    const { code, stdout } = await run(args, envOf(prefix), row.stdin);
    expect(code).toBe(0);
    const { id } = JSON.parse(stdout) as Receipt;
    const job = await storedJob(redis.client, prefix, id);
    expect(job.data.notice).toEqual({ ...NOTICE, scheduleType: 'DIRECTLY' });
    expect([job.delay, job.priority]).toEqual([60_000, 2]);
  });

  it('refuses a notice that is not UTF-8, instead of sending other characters', async () => {
    const prefix = redis.freshPrefix();
    const [before, after] = JSON.stringify(NOTICE).split('김');
    // The same name as Korean editors on Windows save it.
    const bytes = Buffer.concat([
      Buffer.from(before ?? ''),
      Buffer.from([0xb1, 0xe8]),
      Buffer.from(after ?? ''),
    ]);
    for (const name of [file('euc-kr.json', bytes), '-']) {
      const sending = start(['send', '--file', name, '--json'], envOf(prefix));
      sending.stdin.end(bytes);
      const ended = await sending.ended;
      expect([ended.code, errorOf(ended)]).toEqual([
        2,
        { code: 'USAGE', message: '--file: expected UTF-8; save the file in this encoding' },
      ]);
    }
    expect(await redis.keys(prefix)).toEqual([]);
  });
});

describe('notices send with bad input: exit code 2, named, nothing queued', () => {
  const good = ['--template', 'T', '--contact', '0101'];
  const rows: { names: string; args: string[]; stdin?: string }[] = [
    { names: '--template', args: [] },
    { names: '--contact', args: ['--template', 'T'] },
    { names: '--template', args: ['--contact', '0101'] },
    { names: 'templateCode', args: ['--template', '', '--contact', '0101'] },
    { names: 'templateCode', args: ['--template', 'x'.repeat(201), '--contact', '0101'] },
    { names: 'contacts[1].contact', args: [...good, '--contact', '010-1234-5678'] },
    { names: 'contacts[0].contact', args: ['--template', 'T', '--contact', ''] },
    { names: 'contacts[0].contact', args: ['--template', 'T', '--contact', '1'.repeat(21)] },
    { names: 'contacts[0].var1', args: [...good, '--var', `var1=${'x'.repeat(4_097)}`] },
    { names: '--var', args: [...good, '--var', 'var1'] },
    { names: '--var', args: [...good, '--var', '=x'] },
    { names: 'scheduleType', args: [...good, '--schedule-type', ''] },
    { names: 'senderKey', args: [...good, '--sender-key', ''] },
    { names: 'chatSenderKey', args: [...good, '--chat-sender-key', ''] },
    { names: 'options.idempotencyKey', args: [...good, '--idempotency-key', ''] },
    { names: '--delay', args: [...good, '--delay', '-5'] },
    { names: '--delay', args: [...good, '--delay', 'soon'] },
    { names: 'Expected a duration from 0s to 366d', args: [...good, '--delay', '401d'] },
    { names: 'options.sendAt', args: [...good, '--send-at', 'tomorrow'] },
    { names: 'options.expiresAt', args: [...good, '--expires-at', '2001-01-01T00:00:00Z'] },
    { names: 'options.expiresAt', args: [...good, '--expires-at', ''] },
    { names: '--priority', args: [...good, '--priority', '1.5'] },
    { names: '--priority', args: [...good, '--priority', '2097152'] },
    { names: '--file', args: ['--file', '/nowhere/notice.json'] },
    { names: '--file', args: ['--file', dir] },
    { names: '--file', args: ['--file', '-'], stdin: '{"templateCode":' },
    { names: '--file', args: ['--file', '-'], stdin: '' },
    { names: '--file', args: ['--file', '-', '--template', 'T'], stdin: '{}' },
    { names: '--file', args: ['--file', '-', '--var', 'a=b'], stdin: '{}' },
    { names: '--file', args: ['--file', '-', '--sender-key', 'a'], stdin: '{}' },
    { names: 'notice', args: ['--file', '-'], stdin: '[]' },
    { names: 'notice', args: ['--file', '-'], stdin: 'null' },
    { names: 'contacts', args: ['--file', '-'], stdin: '{"templateCode":"T"}' },
  ];
  it('names what is wrong', async () => {
    const prefix = redis.freshPrefix();
    // Each is a process of its own: four at a time.
    await inFours(rows, async ({ names, args, stdin = '' }) => {
      const ended = await run(['send', ...args, '--json'], envOf(prefix), stdin);
      const shown = [args, ended.code, ended.stdout];
      expect(shown).toEqual([args, 2, '']);
      const { code, message } = errorOf(ended);
      expect(['USAGE', 'NOTICE_INVALID']).toContain(code);
      expect(message).toContain(names);
      expect(message).not.toMatch(/010-1234|xxxxx|11111/);
    });
    expect(await redis.keys(prefix)).toEqual([]);
  });

  it('a wrong configuration, every variable named that it uses', async () => {
    const others = { OPS_ADDRESS: 'tcp://10.0.0.7:4011', CONCURRENCY: '0', BASE_URL: 'wrong' };
    const env = {
      ...others,
      REDIS_URL: 'http://x',
      CHUNK_SIZE: '0',
      REDIS_PREFIX: redis.freshPrefix(),
    };
    const ended = await run(['send', ...good, '--json'], env);
    expect([ended.code, errorOf(ended).code]).toEqual([2, 'CONFIG_INVALID']);
    expect(errorOf(ended).issues?.map(({ field }) => field)).toEqual(['REDIS_URL', 'CHUNK_SIZE']);
  });
});
