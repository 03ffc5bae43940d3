import { describe, expect, it } from 'vitest';
import type { Receipt } from '../../../src/index.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { storedJob, waitingIds } from '../../producer/support/stored-jobs.ts';
import { testRedis } from '../../support/redis.ts';
import { errorOf, run, type Env } from '../support/run.ts';
import { temporaryFolder, temporaryFile } from '../../support/temporary.ts';

const redis = testRedis();
const envOf = (prefix: string): Env => ({ REDIS_URL: redis.url, REDIS_PREFIX: prefix });

const NOTICE = {
  templateCode: 'T',
  at: 'x',
  contacts: [{ contact: '0101', var1: '김', name: '1' }],
};

describe('notices send', () => {
  it('queues what the flags say, and answers the receipt', async () => {
    const prefix = redis.freshPrefix();
    const line =
      'send --template T --contact 0101 --contact 0102 --var var1=a=b --sender-key s --chat-sender-key c --schedule-type X --json';
    const { code, stdout, stderr } = await run(line, envOf(prefix));
    expect([code, stderr]).toEqual([0, '']);
    const receipt = JSON.parse(stdout) as Receipt;
    expect(receipt).toMatchObject({ contacts: 2, duplicate: false });
    const { data } = await storedJob(redis.client, prefix, receipt.id);
    expect(data.notice).toEqual({
      templateCode: 'T',
      scheduleType: 'X',
      chatSenderKey: 'c',
      senderKey: 's',
      contacts: ['0101', '0102'].map((contact) => ({ contact, var1: 'a=b' })),
    });
  });

  it('says so in words, and that a repeated key queued nothing', async () => {
    const prefix = redis.freshPrefix();
    const line = 'send --template T --contact 0101 --idempotency-key k';
    const first = await run(line, envOf(prefix));
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(/^Enqueued n-\S+: 1 contact\.\n$/);
    const again = await run(line, envOf(prefix));
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringContaining('nothing was enqueued'),
    ]);
    expect(await waitingIds(redis.client, prefix)).toHaveLength(1);
    const other = await run(`${line} --contact 0102 --json`, envOf(prefix));
    expect([other.code, errorOf(other).code]).toEqual([2, 'IDEMPOTENCY_CONFLICT']);
  });

  it('says that it is not in the audit stream, with --json in one line of JSON', async () => {
    const prefix = redis.freshPrefix();
    await redis.client.set(keysOf(prefix, 'default').audit, 'no stream');
    const message = 'it is not in the audit stream (QUEUE_REFUSED)';
    const line = 'send --template T --contact 0101';
    const json = await run(`${line} --json`, envOf(prefix));
    expect([json.code, JSON.parse(json.stderr)]).toEqual([0, { warning: { message } }]);
    const words = await run(line, envOf(prefix));
    expect([words.code, words.stderr]).toEqual([0, `warning: ${message}\n`]);
  });

  it('takes a whole notice from a file, with a BOM or not, and from standard input', async () => {
    const text = JSON.stringify(NOTICE);
    for (const [from, stdin] of [
      [temporaryFile(text), ''],
      [temporaryFile(`\uFEFF${text}`), ''],
      ['-', text],
    ] as const) {
      const prefix = redis.freshPrefix();
      const line = `--json send --file ${from} --delay 1m --priority 2`;
      const { stdout } = await run(line, envOf(prefix), stdin);
      const { id } = JSON.parse(stdout) as Receipt;
      const job = await storedJob(redis.client, prefix, id);
      expect(job.data.notice).toEqual({ ...NOTICE, scheduleType: 'DIRECTLY' });
      expect([job.delay, job.priority]).toEqual([60_000, 2]);
    }
  });
});

describe('notices send with bad input: exit code 2, named, nothing queued', () => {
  const good = '--template T --contact 0101';
  // The same name as Korean editors on Windows save it.
  const euckr = Buffer.from(JSON.stringify(NOTICE).replace('김', '\xb1\xe8'), 'latin1');
  const rows = (): readonly (readonly [names: string, line: string, stdin?: string | Buffer])[] => [
    ['--template', ''],
    ['--contact', '--template T'],
    ['--template: ', '--template  --contact 0101'],
    ['contacts[1].contact', `${good} --contact 010-1234-5678`],
    ['--var', `${good} --var var1`],
    ['--var', `${good} --var =x`],
    ['--idempotency-key: ', `--idempotency-key  ${good}`],
    ['--delay', `${good} --delay -5`],
    ['--delay', `${good} --delay soon`],
    ['Expected a duration from 0s to 366d', `${good} --delay 401d`],
    ['--send-at <time>', `${good} --send-at tomorrow`],
    ['--send-at <time>', `${good} --send-at 1796083200`],
    ['--send-at <time>', `${good} --send-at 20991231`],
    ['--expires-at: ', `${good} --expires-at 2001-01-01T00:00:00Z`],
    ['--priority', `${good} --priority 1.5`],
    ['--file', '--file /nowhere/notice.json'],
    ['--file', `--file ${temporaryFolder()}`],
    ['--file: expected UTF-8; save', `--file ${temporaryFile(euckr)}`],
    ['--file: expected UTF-8; save', '--file -', euckr],
    ['--file', '--file -', '{"templateCode":'],
    ['--file', '--file -', ''],
    ['--file', '--file - --template T', '{}'],
    ['--file', '--file - --var a=b', '{}'],
    ['notice', '--file -', '[]'],
    ['contacts', '--file -', '{"templateCode":"T"}'],
  ];
  it('names what is wrong', async () => {
    const prefix = redis.freshPrefix();
    for (const [names, line, stdin] of rows()) {
      const ended = await run(`send --json ${line}`.trimEnd(), envOf(prefix), stdin);
      expect([line, ended.code, ended.stdout]).toEqual([line, 2, '']);
      const { code, message } = errorOf(ended);
      expect(['USAGE', 'NOTICE_INVALID']).toContain(code);
      expect(message).toContain(names);
      expect(message).not.toContain('010-1234');
    }
    expect(await redis.keys(prefix)).toEqual([]);
  });

  it('a wrong configuration, every variable named that it uses', async () => {
    const others = { OPS_ADDRESS: 'tcp://10.0.0.7:4011', CONCURRENCY: '0', BASE_URL: 'wrong' };
    const own = { REDIS_URL: 'http://x', CHUNK_SIZE: '0', REDIS_PREFIX: redis.freshPrefix() };
    const ended = await run(`send ${good} --json`, { ...others, ...own });
    expect([ended.code, errorOf(ended).code]).toEqual([2, 'CONFIG_INVALID']);
    expect(errorOf(ended).issues?.map(({ field }) => field)).toEqual(['REDIS_URL', 'CHUNK_SIZE']);
  });
});
