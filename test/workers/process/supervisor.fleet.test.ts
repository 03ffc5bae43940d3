import { readWorkers } from '../../../src/fleet/heartbeat.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { describe, expect, it } from 'vitest';
import { fleetOn, numbers } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

describe('notices worker with several processes', () => {
  const redis = testRedis();

  it('runs them, starts one again that died, and stops them all', async () => {
    const prefix = redis.freshPrefix();
    const on = await fleetOn(redis, { prefix, env: { PROCESSES: '3', HEARTBEAT_MS: '200' } });
    const pids = async () =>
      (await readWorkers(redis.client, keysOf(prefix, 'default'))).map(({ pid }) => pid);
    const three = async () => {
      const found = await pids();
      return found.length === 3 ? found : undefined;
    };
    const before = await until(three, { what: 'three processes' });
    expect(new Set(before).size).toBe(3);

    const [victim = 0] = before;
    process.kill(victim, 'SIGKILL');
    await until(async () => ((await three()) ?? [victim]).every((pid) => pid !== victim), {
      what: 'another in its place',
    });

    await on.sendEach(numbers(50));
    await until(() => on.emulator.record().distinct === 50, { what: 'all sent' });
    expect(on.emulator.record()).toMatchObject({ twice: 0, tokens: { issued: 1 } });

    const [supervisor] = on.workers;
    supervisor?.kill('SIGTERM');
    expect(await supervisor?.ended).toBe(0);
    // A heartbeat that was under way may come after the goodbye; it is not followed by another.
    await until(async () => (await pids()).length === 0, { what: 'no worker to be left' });
  }, 60_000);

  it('is killed: its processes finish what they send, and stop', async () => {
    const prefix = redis.freshPrefix();
    const on = await fleetOn(redis, { prefix, env: { PROCESSES: '2', HEARTBEAT_MS: '200' } });
    const [supervisor] = on.workers;
    const said = (name: string) => supervisor?.lines.filter(({ event }) => event === name) ?? [];
    await until(() => said('started').length === 2, { what: 'both to start' });
    const processes = await readWorkers(redis.client, keysOf(prefix, 'default'));
    on.emulator.addFault({ on: 'send', latencyMs: 2_000 });
    await on.sendEach(numbers(5));
    await until(() => on.emulator.faults()[0]?.fired === 5, { what: 'the sends' });
    supervisor?.kill('SIGKILL');
    try {
      await until(() => said('stopped').length === 2, { what: 'both to stop' });
    } finally {
      if (said('stopped').length < 2) for (const { pid } of processes) process.kill(pid, 'SIGKILL');
    }
    expect(said('attempt').map(({ outcome }) => outcome)).toEqual(Array(5).fill('accepted'));
    expect(await supervisor?.ended).toBe('SIGKILL');
  }, 60_000);
});
