import { describe, expect, it } from 'vitest';
import { parkNotice } from '../../ops/support/parked-notice.ts';
import { testRedis } from '../../support/redis.ts';
import { matching, run, start } from '../support/run.ts';

const redis = testRedis();
const envOf = (prefix: string) => ({
  REDIS_URL: redis.url,
  REDIS_PREFIX: prefix,
});

describe('notices resolve', () => {
  it.each([['--code', 'ECONNRESET'], ['--all']])(
    'what becomes unknown while it asks is not decided (%s)',
    async (...flags) => {
      const { prefix, id } = await parkNotice(redis);
      const running = start(['resolve', ...flags, '--as', 'discard'], envOf(prefix), true);
      await matching(() => running.stderr(), /Resolve 1 contact as discard\?.*\[y\/N\]/);
      const later = await parkNotice(redis, {}, prefix, undefined, { number: '01000000002' });
      running.stdin.write('y\n');
      const ended = await running.ended;
      expect([ended.code, ended.stdout]).toEqual([0, '1 contact resolved as discard.\n']);
      const left = (await run(['unknown'], envOf(prefix))).stdout;
      expect([left.includes(id), left.includes(later.id)]).toEqual([false, true]);
    },
  );

  it('by a number from standard input', async () => {
    const { prefix } = await parkNotice(redis);
    const resolve = async (number: string) => {
      const flags = ['--number', '-', '--as', 'discard', '--why', 'x', '--yes'];
      const running = start(['resolve', ...flags], envOf(prefix));
      running.stdin.end(`${number}\n`);
      return running.ended;
    };
    expect(await resolve('0101234567x')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^(?!.*0101234567).*--number: /) as string,
    });
    expect(await resolve('01000000001')).toMatchObject({
      code: 0,
      stdout: '1 contact resolved as discard.\n',
    });
  });

  it.each(['unknown', 'resolve'])('%s: a number that is wrong is not repeated', async (command) => {
    const as = command === 'resolve' ? ['--as', 'discard'] : [];
    const { code, stderr } = await run([command, '--number', '0101234567x', ...as]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--number')]);
    expect(stderr).not.toContain('0101234567');
  });
});
