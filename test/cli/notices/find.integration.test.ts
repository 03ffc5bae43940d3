import { beforeAll, describe, expect, it, vi } from 'vitest';
import { NoticeQueue } from '../../../src/index.ts';
import type { FindReport } from '../../../src/search/find-contact.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { errorOf, run, type Env } from '../support/run.ts';

// Each of them starts several processes, one after the other.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const redis = testRedis();
const SECRET = '9'.repeat(64);
const NUMBER = '01077778888';

describe('notices find', () => {
  let env: Env;
  let job = '';

  beforeAll(async () => {
    const prefix = redis.freshPrefix();
    env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix, FIND_KEY: SECRET };
    const queue = new NoticeQueue({
      redis: connectionAs('application', redis.url),
      prefix,
      findKey: SECRET,
    });
    ({ id: job } = await queue.send({ templateCode: 'T', contacts: [{ contact: NUMBER }] }));
    await queue.import([{ contact: NUMBER }], { templateCode: 'LIST', batchId: 'autumn' });
    await queue.close();
  });

  it('shows the notice and the batch, and does not repeat the number', async () => {
    const { code, stdout, stderr } = await run(['find', '010-7777-8888'], env);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^WHERE +STATE +CONFIRMED/m);
    expect(stdout).toMatch(new RegExp(`^notice ${job} +pending +yes +\\S+Z +T$`, 'm'));
    expect(stdout).toMatch(/^batch autumn, row 1 +pending +yes +\S+Z +LIST$/m);
    expect(stdout).toContain('of the last 7 d');
    expect(stdout).not.toMatch(/7777-?8888/);
  });

  it('reads the number from standard input, and answers JSON', async () => {
    const { code, stdout } = await run(['find', '-', '--json'], env, `${NUMBER}\n`);
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as FindReport;
    expect(report.notices).toMatchObject([{ job, states: ['pending'] }]);
    expect(report.contacts).toMatchObject([{ batch: 'autumn', chunk: 0 }]);
    expect(stdout).not.toContain(NUMBER);
  });

  it.each(['+82-10-7777-8888', '821077778888', '0082 10 7777 8888'])(
    'finds a number by its international form: %s',
    async (typed) => {
      const { code, stdout } = await run(['find', typed, '--json'], env);
      expect(code).toBe(0);
      expect((JSON.parse(stdout) as FindReport).notices).toMatchObject([{ job }]);
    },
  );

  it('ends with 1 where there is nothing', async () => {
    const { code, stdout } = await run(['find', '01077778889'], env);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^No notice found\.$/m);
  });

  it('without a key says how to switch the index on', async () => {
    const { code, stdout, stderr } = await run(['find', NUMBER], { ...env, FIND_KEY: '' });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^CONFIG_INVALID: FIND_KEY: is not set, so notices are not searchable/);
    expect(stderr).not.toContain(NUMBER);
  });

  it('refuses what is no number', async () => {
    const ended = await run(['find', '+821077778888x', '--json'], env);
    expect([ended.code, errorOf(ended).code]).toEqual([2, 'NOTICE_INVALID']);
    expect(ended.stderr).not.toContain('77778888');
  });
});
