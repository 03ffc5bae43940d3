import { describe, expect, it } from 'vitest';
import { pause } from '../../../src/async/cancellation.ts';
import { run } from '../../cli/support/run.ts';
import { heartbeats } from '../../support/heartbeats.ts';
import { until } from '../../support/wait.ts';
import {
  copyOf,
  handOver,
  held,
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
  it('restored while everything was stopped: held before anything is sent, reported, and lifted manually', async () => {
    // So slow that the copy is taken, and all stopped, long before the last send.
    const { server, fleet: on, dir } = await start({ processes: 0, env: { RATE_LIMIT: '100' } });
    await handOver(on);
    await on.addWorker();
    await sent(on, 100);
    const copy = copyOf(dir);
    await sent(on, Number(on.emulator.record().distinct) + 200);
    await stopAll(on, 'SIGKILL');
    await server.kill('SIGKILL');
    const before = on.emulator.record();
    putBack(copy, dir);
    // So long that it may be a copy from last night.
    await pause(1_500);
    await server.restart();

    await Promise.all([on.addWorker(), on.addWorker()]);
    expect(await held(on)).toMatchObject({ code: 'gap' });
    expect(said(on, 'restored')).toHaveLength(1);
    await heartbeats(on, 5);
    expect(on.emulator.record().requests).toBe(before.requests);

    const { report, numbers: might } = await listed(on);
    expect(report).toMatchObject({ held: true, event: { why: 'gap', verdict: 'held' } });
    expect(report.batches).toMatchObject([{ batch: 'b', importing: false, phase: 'sending' }]);
    const words = await run(['restored'], on.env);
    expect(words.stdout).toMatch(/might be sent again/);
    expect(words.stdout).not.toMatch(/0100\d{7}/);

    // A restart neither lifts the hold nor places it again.
    await on.addWorker();
    expect(said(on, 'restored')).toHaveLength(1);
    expect((await run(['hold', 'lift'], on.env)).stdout).toContain('restored');
    await sent(on, 600);
    await until(() => on.emulator.record().requests > before.requests, { what: 'sends' });
    const batch = async () => (await run(['batch', 'b', '--json'], on.env)).stdout;
    await until(async () => (await batch()).includes('"finished"'), {
      what: 'the end',
      ...PATIENCE,
    });
    await until(() => takenTwice(on).length > 100, { what: 'the repeated sends', ...PATIENCE });
    const twice = takenTwice(on);
    for (const number of twice) expect(might).toContain(number);
    await on.addWorker();
    expect((await run(['hold'], on.env)).stdout.trim()).toBe('none');
    const audit = await run(['audit'], on.env);
    expect(audit.stdout).toContain('lifted restored');
  }, 180_000);
});
