import { afterEach, expect, it } from 'vitest';
import { keysOf } from '../../../src/redis/keys.ts';
import { readWorkers } from '../../../src/fleet/heartbeat.ts';
import { run } from '../../cli/support/run.ts';
import { room } from '../../service-coverage/support/line.ts';
import { numbers } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';

const PATIENCE = { deadlineMs: 30_000 };
const lines = room();
const { client, url } = lines.redis;
const evicting = (is: boolean) =>
  client.config('SET', 'maxmemory-policy', is ? 'allkeys-lru' : 'noeviction');
const noticesTo = (count: number) =>
  numbers(count).map((contact) => ({ templateCode: 'T', contacts: [{ contact }] }));

afterEach(() => evicting(false));

it('a worker takes no further jobs while Redis evicts, logs that, and continues when it is fixed', async () => {
  const { queue, emulator, log, prefix } = await lines.direct({ HEARTBEAT_MS: '200' });
  const said = (name: string) => log.filter(({ event }) => event === name);
  const evicts = () => said('redis-finding').filter(({ code }) => code === 'evicts');
  const worker = async () => (await readWorkers(client, keysOf(prefix, 'default')))[0];
  const isUnready = async () =>
    (await worker())?.unready?.some(({ reason }) => reason === 'redis-unsuitable');
  await evicting(true);
  await until(isUnready, { what: 'a heartbeat that says so', ...PATIENCE });
  await queue.sendMany(noticesTo(20));
  const { stdout } = await run(['status'], { REDIS_URL: url, REDIS_PREFIX: prefix });
  expect(stdout).toContain('workers refuse to send: under memory pressure Redis would evict');
  expect(stdout).toContain('not ready: Redis could lose notices');
  // Several checks of the monitor.
  const from = performance.now();
  await until(() => performance.now() > from + 3_000, { what: 'fifteen heartbeats' });
  expect(emulator.record().requests).toBe(0);
  expect(evicts()).toHaveLength(1);

  await evicting(false);
  await until(() => emulator.record().distinct === 20, { what: 'all sent', ...PATIENCE });
  expect(said('redis-finding-over').map(({ code }) => code)).toEqual(['evicts']);
  expect(emulator.record().twice).toBe(0);
  await until(async () => !(await isUnready()), { what: 'ready again', ...PATIENCE });
}, 90_000);

it('Redis is checked at each new connection, and every second while it takes no jobs, whatever HEARTBEAT_MS', async () => {
  const { queue, emulator, log } = await lines.direct({ HEARTBEAT_MS: '1m' });
  await evicting(true);
  await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until(() => log.some(({ code }) => code === 'evicts'), {
    what: 'the finding',
    ...PATIENCE,
  });
  await queue.sendMany(noticesTo(5));
  await evicting(false);
  await until(() => emulator.record().distinct === 5, { what: 'all sent', ...PATIENCE });
  expect(emulator.record().twice).toBe(0);
}, 90_000);
