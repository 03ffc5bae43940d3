import { describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { parkNotice } from '../../ops/support/parked-notice.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
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

  it('a notice whose deadline has passed is not sent again, and says so', async () => {
    const deadline = Date.now() + 700;
    const { id, prefix } = await parkNotice(redis, { expiresAt: deadline });
    await until(() => Date.now() > deadline, { what: 'the deadline' });
    const ended = await run(['resolve', id, '--as', 'resend', '--yes'], envOf(prefix));
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain('their deadline has passed');
    expect((await run(['unknown'], envOf(prefix))).stdout).toContain(id);
  });

  it('stopped by Ctrl-C: what it had done is in the audit, the rest stays unknown', async () => {
    const prefix = redis.freshPrefix();
    const chunks = Array.from({ length: 3_000 }, (_, at) => contacts(2, at * 2));
    const batch = await buildBatch(redis.client, prefix, 'b', chunks);
    for (const chunk of chunks.keys()) {
      await batch.settle(chunk, allFailed(2, 'unknown', 'HTTP_500', ''));
    }
    const running = start(['resolve', '--batch', 'b', '--as', 'accepted', '--yes'], envOf(prefix));
    const some = async () => (await batch.read()).counts.accepted > 0;
    await until(some, { what: 'the first', everyMs: 1, deadlineMs: 20_000 });
    running.stop('SIGINT');
    const { code, stdout } = await running.ended;
    expect([code, stdout]).toMatchObject([1, expect.stringContaining('Run the command again')]);
    const { accepted, unknown } = (await batch.read()).counts;
    expect(unknown).toBeGreaterThan(0);
    expect(accepted + unknown).toBe(6_000);
    const audit = await readAudit(redis.client, keysOf(prefix, 'default'), 9);
    expect(audit).toMatchObject([{ target: 'batch b', contacts: accepted }]);
  }, 60_000);
});
