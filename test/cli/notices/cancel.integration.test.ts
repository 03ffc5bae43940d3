import { describe, expect, it, onTestFinished } from 'vitest';
import { readAudit } from '../../../src/ops/audit.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { buildBatch } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { errorOf, run } from '../support/run.ts';

const redis = testRedis();
const NOTICE = { templateCode: 'ORDER', contacts: [{ contact: '01000000001' }] };

function open() {
  const prefix = redis.freshPrefix();
  const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  onTestFinished(() => queue.close());
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const cancel = (...args: string[]) => run(['cancel', ...args], env);
  const audit = () => readAudit(redis.client, keysOf(prefix, 'default'), 10);
  return { prefix, queue, cancel, audit };
}

describe('notices cancel, of a single notice', () => {
  it('cancels it by id or key, records who and why, and answers the same twice', async () => {
    const { queue, cancel, audit } = open();
    const options = { delay: 3_600_000, idempotencyKey: 'visit-1' };
    const { id } = await queue.send(NOTICE, options);
    const done = await cancel(id, '--why', 'the visit is off');
    expect(done).toEqual({
      code: 0,
      stdout: `Notice ${id} is cancelled: it was not sent and will not be.\n`,
      stderr: '',
    });
    expect(await audit()).toMatchObject([
      { what: 'cancel', target: id, as: 'cancelled', why: 'the visit is off' },
    ]);
    const json = await cancel('--key', 'visit-1', '--release-key', '--json');
    expect(JSON.parse(json.stdout)).toEqual({
      id,
      cancelled: true,
      answer: 'cancelled',
      keyReleased: true,
    });
    expect(await audit()).toMatchObject([{ as: 'cancelled, key released' }, {}]);
    expect(await queue.send(NOTICE, options)).toMatchObject({ duplicate: false });
    const other = await queue.send(NOTICE, { delay: 3_600_000 });
    const none = await cancel(other.id, '--release-key');
    expect([none.code, none.stdout]).toEqual([
      0,
      expect.stringContaining('\nNo idempotency key was released: the notice has none'),
    ]);
  });

  it('exits with 1 where it was not cancelled, and records nothing', async () => {
    const { cancel, audit } = open();
    const none = await cancel('n-AAAAAAAAAAAAAAAA');
    expect(none.code).toBe(1);
    expect(none.stdout).toBe(
      'Notice n-AAAAAAAAAAAAAAAA is not cancelled: nothing is kept under this id or key.\n',
    );
    expect((await cancel('--key', 'none')).code).toBe(1);
    expect(await audit()).toEqual([]);
  });

  it('still cancels a batch by its id, with a reason, and names one that does not exist', async () => {
    const { prefix, cancel, audit } = open();
    await buildBatch(redis.client, prefix, 'spring', [NOTICE.contacts]);
    const wrong = await cancel('spring', '--yes', '--release-key', '--json');
    expect([wrong.code, errorOf(wrong)]).toEqual([
      2,
      {
        code: 'USAGE',
        message:
          '--release-key: leave it out for a batch; only single notices have idempotency keys',
      },
    ]);
    const done = await cancel('spring', '--yes', '--why', 'wrong list');
    expect(done.stdout).toMatch(/^Batch spring is cancelled/);
    expect(await audit()).toMatchObject([{ target: 'batch spring', why: 'wrong list' }]);
    const none = await cancel('no-such-batch', '--json');
    expect([none.code, errorOf(none).message]).toEqual([
      2,
      'No batch named "no-such-batch" (it may have been deleted). "notices batches" lists all batches.',
    ]);
    const both = await cancel('spring', '--key', 'k', '--json');
    expect([both.code, errorOf(both).message]).toEqual([
      2,
      'use either an id, --key, or flags that select such as --template',
    ]);
  });
});
