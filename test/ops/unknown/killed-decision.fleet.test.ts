import { expect, it } from 'vitest';
import { run } from '../../cli/support/run.ts';
import { startProcess } from '../../cli/support/process.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../../workers/support/worker-in-process.ts';
import { failNotices } from '../support/failed-notices.ts';

const redis = testRedis();
const LONG = { deadlineMs: 90_000 };

it.each(['resend', 'accepted'] as const)(
  '3,000 unknown notices, decided as %s by a command that is killed, and by others after it: nothing is lost or done twice',
  async (as) => {
    const { prefix, env } = redis.account();
    const { client } = redis;
    const { keys } = await failNotices(redis, prefix, { count: 3_000, state: 'unknown' });
    const args = ['decide', '--single', '--as', as, '--state', 'unknown', '--yes', '--json'];
    const listed = () => client.zcard(keys.endedIn('unknown'));
    const first = startProcess(args, env);
    await until(async () => (await listed()) < 2_500, { what: 'some decisions', ...LONG });
    first.child.kill('SIGKILL');
    await first.ended;
    expect(await listed()).toBeGreaterThan(0);

    // What the killed one had started is excluded for half a minute; then it is decided again.
    await Promise.all([0, 1].map(() => run(args, env)));
    const isOver = async () => {
      await run(args, env);
      return (await listed()) + (await client.zcard(keys.endedIn('again'))) === 0;
    };
    await until(isOver, { what: 'the rest', ...LONG });
    const status = await run(['status', '--json'], env);
    expect(JSON.parse(status.stdout)).toMatchObject({ unknown: { notices: 0, contacts: 0 } });
    const again = as === 'resend' ? 3_000 : 0;
    expect(await client.llen(keys.noticesIn('wait'))).toBe(again);
    const { emulator } = await startWorkerInProcess(redis.url, prefix);
    const arrived = () => emulator.record().contacts >= again;
    await until(arrived, { what: 'the notices at the service', ...LONG });
    expect(emulator.record()).toMatchObject({ contacts: again, distinct: again, twice: 0 });
  },
  240_000,
);
