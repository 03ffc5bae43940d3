import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../../cli/support/run.ts';
import { numbers } from '../../support/fleet.ts';
import { heartbeats } from '../../support/heartbeats.ts';
import { until } from '../../support/wait.ts';
import {
  copyOf,
  held,
  listed,
  PATIENCE,
  putBack,
  sent,
  start,
  stopAll,
  takenTwice,
} from './support/restored-queue.ts';
import { temporaryFolder } from '../../support/temporary.ts';

describe('an old copy of the queue', () => {
  it('is found by a file after a clean shutdown; its notices can be parked: none is sent, a person decides', async () => {
    const env = { STATE_FILE: path.join(temporaryFolder(), 'state.json') };
    const { server, fleet: on, dir } = await start({ env });
    await on.sendEach(numbers(200));
    await sent(on, 50);
    const copy = copyOf(dir);
    await sent(on, 120);
    // The copy lacks what the workers remember then.
    await heartbeats(on, 2);
    await stopAll(on, 'SIGTERM');
    await server.kill('SIGTERM');
    putBack(copy, dir);
    await server.restart();
    await on.addWorker();
    expect(await held(on)).toMatchObject({ code: 'went-back' });
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
});
