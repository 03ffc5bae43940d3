import { describe, expect, it, onTestFinished } from 'vitest';
import { placeManualHold } from '../../../src/fleet/hold/holds.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { run } from '../support/run.ts';

const redis = testRedis();
const NOTICE = { templateCode: 'ORDER', contacts: [{ contact: '01000000001' }] };

function open(prefix = redis.freshPrefix()) {
  const queue = new NoticeQueue({
    redis: connectionAs('producer', redis.url),
    prefix,
  });
  onTestFinished(() => queue.close());
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const show = (...args: string[]) => run(['show', ...args], env);
  return { prefix, keys: keysOf(prefix, 'default'), queue, show };
}

describe('notices show', () => {
  it('shows the state, why it waits, and what is known, by id and by key', async () => {
    const { queue, show, keys } = open();
    const { id } = await queue.send(NOTICE, { delay: 3_600_000, idempotencyKey: 'order-1' });
    const { code, stdout } = await show(id);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^notice +${id}$`, 'm'));
    expect(stdout).toMatch(/^state +pending, delayed, due in (?:60|59) min \(.* UTC\)$/m);
    expect(stdout).toMatch(/^template +ORDER$/m);
    expect(stdout).toMatch(/^attempts +0$/m);
    expect(stdout).not.toContain('0100');
    const byKey = await show('--key', 'order-1', '--json');
    expect(JSON.parse(byKey.stdout)).toEqual(await queue.get(id));

    await placeManualHold(redis.client, keys, 'x');
    const held = await queue.send(NOTICE);
    const { stdout: why } = await show(held.id);
    expect(why).toMatch(/^state +pending, held \(manual\): held manually$/m);
    expect(why).toMatch(/^To do: lift the hold when its cause is gone\.$/m);
  });

  it('of what is not kept: exit code 1, and how long things are kept', async () => {
    const { show, keys } = open();
    const unknown = await show('no such id');
    expect(unknown).toMatchObject({ code: 1, stderr: '' });
    expect(unknown.stdout).toContain('it never existed, or was deleted after its end');
    const ages = { acceptedMs: 3_600_000, failedMs: 604_800_000 };
    const retention = { ...ages, acceptedCount: 10_000, sendWindows: '', events: 0 };
    await redis.client.hset(keys.account, retention);
    expect((await show('no such id')).stdout).toMatch(
      /are kept for .+ \(KEEP_ACCEPTED_MS\), the last 10,000 at most; rejected and unknown ones for .+ \(KEEP_FAILED_MS\)/,
    );
  });
});
