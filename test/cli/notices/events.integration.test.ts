import { describe, expect, it, onTestFinished } from 'vitest';
import { NoticeQueue } from '../../../src/index.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../../workers/support/worker-in-process.ts';
import { startProcess } from '../support/process.ts';
import { run } from '../support/run.ts';

const redis = testRedis();

describe('notices events', () => {
  it('lists the ends that are kept, from a cursor on, and follows new ones', async () => {
    const prefix = redis.freshPrefix();
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
    expect((await run(['events'], env)).stdout).toBe('No event is kept.\n');
    const worker = await startWorkerInProcess(redis.url, prefix, { NOTICE_EVENTS: '100' });
    onTestFinished(() => worker.stop());
    const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
    onTestFinished(() => queue.close());
    const following = startProcess(['events', '--follow', '--json'], env);
    onTestFinished(() => following.stop('SIGTERM'));
    const ids: string[] = [];
    for (const contact of ['01000000001', '01000000002']) {
      const { id } = await queue.send({ templateCode: 'T', contacts: [{ contact }] });
      ids.push(id);
      await until(async () => (await queue.get(id)).state === 'accepted', { what: 'its end' });
    }
    for (const id of ids) await following.says(new RegExp(`"notice":"${id}"`));
    // Gone: the next event shows it.
    following.child.stdout?.destroy();
    const last = await queue.send({ templateCode: 'T', contacts: [{ contact: '01000000003' }] });
    ids.push(last.id);
    expect((await following.ended).code).toBe(0);
    const listed = await run(['events', '--json'], env);
    const { events } = JSON.parse(listed.stdout) as {
      events: { notice: string; cursor: string }[];
    };
    expect(events.map(({ notice }) => notice)).toEqual(ids);
    const rest = await run(['events', '--from', events[0]?.cursor ?? ''], env);
    expect(rest.stdout).toContain(`${ids[1]}, accepted`);
    expect(rest.stdout).not.toContain(ids[0]);
  }, 60_000);
});
