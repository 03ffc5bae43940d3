import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { pause } from '../../../src/async/cancellation.ts';
import { run } from '../../cli/support/run.ts';
import { numbers } from '../../support/fleet.ts';
import { heartbeats } from '../../support/heartbeats.ts';
import { until } from '../../support/wait.ts';
import {
  copyOf,
  freshFolder,
  handOver,
  held,
  IN_FLIGHT,
  listed,
  PATIENCE,
  putBack,
  said,
  sent,
  start,
  stopAll,
  takenTwice,
} from './support/restored-queue.ts';

describe('an old copy of the queue', () => {
  it('restored under running workers: they remember, and send nothing from it', async () => {
    const { server, fleet: on, dir } = await start({ processes: 2 });
    await handOver(on);
    await sent(on, 100);
    const copy = copyOf(dir);
    await sent(on, 250);
    // The copy lacks what the workers remember then.
    await heartbeats(on, 2);
    await server.kill('SIGKILL');
    putBack(copy, dir);
    await server.restart();
    expect(await held(on)).toMatchObject({ code: 'went-back' });
    expect(said(on, 'restored')).toHaveLength(1);
    const { requests } = on.emulator.record();
    await heartbeats(on, 8);
    expect(on.emulator.record().requests).toBe(requests);
    // What was under way when Redis went away may have come again; nothing came out of the copy.
    expect(takenTwice(on).length).toBeLessThanOrEqual(2 * (IN_FLIGHT + 2 * 5));

    const { numbers: might } = await listed(on);
    await run(['hold', 'lift'], on.env);
    await sent(on, 600);
    const batch = async () => (await run(['batch', 'b', '--json'], on.env)).stdout;
    await until(async () => (await batch()).includes('"finished"'), {
      what: 'the end',
      ...PATIENCE,
    });
    const doubles = takenTwice(on);
    expect(doubles.length).toBeGreaterThan(100);
    for (const number of doubles) expect(might).toContain(number);
    expect(said(on, 'restored')).toHaveLength(1);
  }, 180_000);

  it('its notices can be parked: none is sent, each is listed as unknown, a person decides', async () => {
    const { server, fleet: on, dir } = await start();
    await on.sendEach(numbers(200));
    await sent(on, 50);
    const copy = copyOf(dir);
    await sent(on, 120);
    // The copy lacks what the workers remember then.
    await heartbeats(on, 2);
    await server.kill('SIGKILL');
    putBack(copy, dir);
    await server.restart();
    await held(on);
    const { numbers: might, report } = await listed(on);
    expect(report.notices.jobs).toBeGreaterThan(100);
    expect((await run(['restored', 'park'], on.env)).code).toBe(2);
    // What a worker had when the copy was made is left until its lock is over: then again.
    let parked = 0;
    const park = async () => {
      const { stdout } = await run(['restored', 'park', '--yes', '--json'], on.env);
      const { jobs, notHeld } = JSON.parse(stdout) as { jobs: number; notHeld: boolean };
      expect(notHeld).toBe(false);
      return (parked += jobs) === report.notices.jobs;
    };
    await until(park, { what: 'all parked', deadlineMs: 130_000, everyMs: 500 });
    // Again, as if it had been cut short.
    expect((await run(['restored', 'park', '--yes'], on.env)).code).toBe(0);
    const fresh = '01099999999';
    const { requests } = on.emulator.record();
    await run(['hold', 'lift'], on.env);
    const unknown = async () => {
      const { stdout } = await run(['failures', '--state', 'unknown', '--json'], on.env);
      return (JSON.parse(stdout) as { matching: number }).matching;
    };
    await until(async () => (await unknown()) === report.notices.jobs, {
      what: 'all listed',
      ...PATIENCE,
    });
    expect(on.emulator.record().requests).toBe(requests);
    await on.sendEach([fresh]);
    await until(() => on.emulator.record().requests === requests + 1, {
      what: 'a fresh one',
      ...PATIENCE,
    });
    expect((await run(['restored', 'park', '--yes'], on.env)).code).toBe(1);

    const before = new Set([...on.emulator.contacts()].map(({ contact }) => contact));
    const resend = ['decide', '--single', '--state', 'unknown', '--as', 'resend', '--yes'];
    expect(await run(resend, on.env)).toMatchObject({ code: 0 });
    await until(async () => (await unknown()) === 0, { what: 'none unknown', ...PATIENCE });
    await until(() => on.emulator.record().distinct === 201, { what: 'all sent', ...PATIENCE });
    for (const number of takenTwice(on)) expect(might.has(number) && before.has(number)).toBe(true);
    expect((await run(['audit', '--limit', '1000'], on.env)).stdout).toMatch(
      /park .*restored notices/,
    );
  }, 180_000);

  it('is detected with certainty by a file, also after a clean shutdown', async () => {
    const state = path.join(freshFolder(), 'state.json');
    const { server, fleet: on, dir } = await start({ env: { STATE_FILE: state } });
    await on.sendEach(numbers(40));
    await sent(on, 40);
    await stopAll(on, 'SIGTERM');
    const copy = copyOf(dir);
    await on.addWorker();
    await on.sendEach(numbers(40, 40));
    await sent(on, 80);
    // The copy lacks what the workers remember then.
    await heartbeats(on, 2);
    await stopAll(on, 'SIGTERM');
    expect(JSON.parse(readFileSync(state, 'utf8'))).toMatchObject({
      v: 1,
      queue: '{restore:default}',
    });
    await server.kill('SIGTERM');
    putBack(copy, dir);
    await server.restart();
    await on.addWorker();
    expect(await held(on)).toMatchObject({ code: 'went-back' });
  }, 180_000);

  it('only warns when configured so, and is not checked when switched off', async () => {
    const { server, fleet: on, dir } = await start({ env: { RESTORE_GUARD: 'warn' } });
    await on.sendEach(numbers(30));
    await sent(on, 10);
    const copy = copyOf(dir);
    await sent(on, 30);
    // The copy lacks what the workers remember then.
    await heartbeats(on, 2);
    await server.kill('SIGKILL');
    putBack(copy, dir);
    await server.restart();
    await until(() => said(on, 'restored').length === 1, { what: 'the warning', ...PATIENCE });
    expect(said(on, 'restored')[0]).toMatchObject({ verdict: 'warned', why: 'went-back' });
    await on.sendEach(numbers(1, 100));
    await sent(on, 31);
    expect((await run(['restored'], on.env)).stdout).toContain('none: warning only');

    await stopAll(on, 'SIGTERM');
    await on.addWorker({ RESTORE_GUARD: 'off' });
    await server.kill('SIGKILL');
    putBack(copy, dir);
    await server.restart();
    await on.sendEach(numbers(1, 200));
    await sent(on, 32);
    expect(said(on, 'restored')).toHaveLength(1);
  }, 180_000);

  describe('is not suspected', () => {
    it('after Redis was killed and started again with its append-only file', async () => {
      const { server, fleet: on } = await start({ processes: 2 });
      await on.sendEach(numbers(300));
      await sent(on, 100);
      await server.kill('SIGKILL');
      // So long that only memory tells it from a copy; a newcomer waits for those who remember.
      await pause(1_500);
      const late = on.addWorker();
      await server.restart();
      await late;
      await sent(on, 300);
      expect(said(on, 'restored')).toEqual([]);
      expect((await run(['restored'], on.env)).stdout).toContain('No old copy of the queue');
    }, 120_000);

    it('in an emptied Redis, under running workers', async () => {
      const { server, fleet: on } = await start({ persistence: false });
      await on.sendEach(numbers(50));
      await sent(on, 50);
      await server.kill('SIGKILL');
      await server.restart();
      await on.sendEach(numbers(10, 50));
      await sent(on, 60);
      await until(() => said(on, 'redis-emptied').length === 1, {
        what: 'the warning',
        ...PATIENCE,
      });
      const redis = new Redis(server.url);
      await redis.flushall();
      redis.disconnect();
      await on.sendEach(numbers(10, 60));
      await sent(on, 70);
      expect(said(on, 'restored')).toEqual([]);
    }, 120_000);
  });
});
