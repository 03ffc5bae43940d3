import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../../scripts/redis/free-port.ts';
import { readTraffic } from '../../../src/traffic/traffic.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { readExposition } from '../../metrics/exposition.ts';
import { fleetOn, numbers } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

const SLOWLY = { deadlineMs: 30_000, everyMs: 100 };

describe('the health port of a worker', () => {
  const redis = testRedis();

  async function start(env: Record<string, string> = {}) {
    const port = await freePort();
    const prefix = redis.freshPrefix();
    const fleet = await fleetOn(redis, {
      prefix,
      env: { HEALTH_ADDRESS: String(port), HEARTBEAT_MS: '200', ...env },
    });
    const get = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: answer.status, text: await answer.text() };
    };
    return {
      on: fleet,
      keys: keysOf(prefix, 'default'),
      get,
      metrics: async () => readExposition((await get('/metrics')).text),
    };
  }

  it('tells what the worker did, as the traffic record of the fleet does', async () => {
    const { on, keys, get, metrics } = await start();
    await until(async () => (await get('/readyz')).status === 200, { what: 'ready', ...SLOWLY });
    expect(await get('/livez')).toMatchObject({ status: 200 });
    await on.sendEach(numbers(40));
    await until(() => on.emulator.record().distinct === 40, { what: 'all sent', ...SLOWLY });
    const labels = { lane: 'notices', outcome: 'accepted' };
    await until(async () => (await metrics()).value('notices_attempts_total', labels) === 40, {
      what: 'all counted',
      ...SLOWLY,
    });
    const { value } = await metrics();
    expect(value('notices_contacts_total', labels)).toBe(40);
    const { requests } = on.emulator.record();
    expect(requests).toBe(40);
    expect(value('notices_requests_total', { lane: 'notices' })).toBe(requests);
    expect(value('notices_answer_seconds_count', { lane: 'notices' })).toBe(requests);
    expect(value('notices_queue_wait_seconds_count', { lane: 'notices' })).toBe(40);
    expect(value('notices_token_wait_seconds_count')).toBe(requests);
    expect(value('notices_token_issuances_total')).toBe(1);
    expect(value('notices_job_slots')).toBe(32 + 8);
    expect(value('notices_worker_ready')).toBe(1);
    const counted = async () => (await readTraffic(redis.client, keys)).total.notices;
    await until(async () => (await counted()).accepted === 40, { what: 'the record', ...SLOWLY });
    expect(await counted()).toMatchObject({ accepted: 40, requests });
  }, 60_000);

  it('does not prevent a worker from stopping, and loses no counts at a clean stop', async () => {
    const { on, keys, get } = await start({ HEARTBEAT_MS: '60000' });
    // A connection that stays open, as that of a scraper does.
    await get('/metrics');
    await on.sendEach(numbers(5));
    await until(() => on.emulator.record().distinct === 5, { what: 'all sent', ...SLOWLY });
    const [worker] = on.workers;
    worker?.kill('SIGTERM');
    expect(await worker?.ended).toBe(0);
    const { total } = await readTraffic(redis.client, keys);
    expect(total.notices.accepted).toBe(5);
  }, 60_000);

  it('prevents the start of the worker when the port is in use', async () => {
    const { on } = await start({});
    const second = spawn(process.execPath, ['dist/src/cli/main.js', 'worker'], {
      env: on.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    second.stderr.on('data', (data: Buffer) => {
      said += data.toString();
    });
    expect(await once(second, 'close')).toEqual([2, null]);
    expect(said).toMatch(/^CONFIG_INVALID: HEALTH_ADDRESS 127\.0\.0\.1:\d+ cannot/);
  }, 60_000);
});
