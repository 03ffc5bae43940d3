import { afterEach, describe, expect, it } from 'vitest';
import { startRedisServer, type RedisServer } from '../../../scripts/redis/redis-server.ts';
import { startProcess } from '../../cli/support/process.ts';
import { run } from '../../cli/support/run.ts';
import { numbers, startFleet, type Fleet, type FleetWorker } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';

const PATIENCE = { deadlineMs: 30_000 };
const PREFIX = 'stopping';

/** The time to stop, and what a crowded machine may take on top. */
const BOUND_MS = 6_000;
const SLACK_MS = 10_000;

const ENV = {
  SHUTDOWN_TIMEOUT_MS: String(BOUND_MS),
  SEND_DEADLINE_MS: '3000',
  ISSUE_DEADLINE_MS: '2000',
  ANSWER_TIMEOUT_MS: '2500',
  CONNECT_TIMEOUT_MS: '500',
  HEARTBEAT_MS: '500',
  HOLD_PROBE_MIN_MS: '60000',
  // A request for each notice, to be counted.
};

/**
 * A worker ends within SHUTDOWN_TIMEOUT_MS, whatever state it is in:
 *
 * | state | ends | code |
 * |---|---|---|
 * | idle, held, paused for Redis | at once | 0 |
 * | sending, and the service does not answer | when the answer's time is over | 0 |
 * | sending a half of a refused chunk | after it; the other half waits | 0 |
 * | waiting for a Redis that is away or frozen, before its start | at once | 0 |
 * | Redis away or frozen, nothing under way | after two seconds without an answer | 0 |
 * | Redis away, an outcome is known that it has not heard | when it is back and has heard it | 0 |
 * | the same, and it does not come back | when the time is over | 1 |
 *
 * stopping.test.ts has: sending, waiting for a token, a second signal.
 */
describe('a worker that is told to stop', () => {
  let server: RedisServer | undefined;
  let fleet: Fleet | undefined;

  afterEach(async () => {
    await server?.kill('SIGCONT').catch(() => {});
    await fleet?.close();
    await server?.close();
    fleet = undefined;
    server = undefined;
  });

  async function start(env: Readonly<Record<string, string>> = {}) {
    const started = await startRedisServer({ persistence: true });
    server = started;
    const on = await startFleet({
      redisUrl: started.url,
      prefix: PREFIX,
      processes: 1,
      env: { ...ENV, ...env },
      emulator: { latencyMs: 20 },
    });
    fleet = on;
    const [worker] = on.workers;
    if (worker === undefined) throw new Error('the fleet has no worker');
    return { server: started, fleet: on, worker };
  }

  async function stopped(worker: Pick<FleetWorker, 'kill' | 'ended'>): Promise<number | string> {
    const asked = performance.now();
    worker.kill('SIGTERM');
    const code = await worker.ended;
    expect(performance.now() - asked).toBeLessThan(BOUND_MS + SLACK_MS);
    return code;
  }

  const says = (worker: FleetWorker, event: string) =>
    worker.lines.some((line) => line.event === event);

  it('while the service does not answer', async () => {
    const { worker, fleet: on } = await start();
    on.emulator.addFault({ on: 'send', hang: 'before-acting' });
    await on.sendEach(numbers(3));
    await until(() => on.emulator.faults()[0]?.fired === 3, {
      what: 'sends that hang',
      ...PATIENCE,
    });
    expect(await stopped(worker)).toBe(0);
    expect(on.attempts().map(({ outcome }) => outcome)).toEqual(['unknown', 'unknown', 'unknown']);
  }, 60_000);

  it('between the halves of a refused chunk: the other half waits', async () => {
    const { worker, fleet: on } = await start({ BATCH_CONCURRENCY: '1' });
    // The whole is refused, and each half takes its time.
    on.emulator.addFault({ on: 'send', status: 400, times: 1 });
    on.emulator.addFault({ on: 'send', latencyMs: 1_500 });
    const list = numbers(64).map((contact) => ({ contact }));
    await on.queue.import(list, { templateCode: 'T', batchId: 'b', chunkSize: 64, bisect: true });
    await until(() => on.emulator.faults()[1]?.fired === 1, {
      what: 'the first half',
      ...PATIENCE,
    });
    expect(await stopped(worker)).toBe(0);
    const { stdout } = await run(['batch', 'b', '--json'], on.env);
    const { batch } = JSON.parse(stdout) as { batch: { counts: Record<string, number> } };
    expect(batch.counts).toMatchObject({ accepted: 32, pending: 32, sending: 0, unknown: 0 });
    on.emulator.clearFaults();
    await on.addWorker();
    await until(() => on.emulator.record().distinct === 64, { what: 'the rest', ...PATIENCE });
    expect(on.emulator.record().twice).toBe(0);
  }, 90_000);

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'before its start, while Redis got a %s',
    async (signal) => {
      const { server, fleet: on } = await start();
      await server.kill(signal);
      const late = startProcess(['worker'], on.env);
      await late.says(/waiting-for-redis/);
      const ended = late.ended.then(({ code }) => code);
      expect(await stopped({ kill: (name) => late.child.kill(name), ended })).toBe(0);
    },
    90_000,
  );

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'idle, after Redis got a %s',
    async (signal) => {
      const { server, fleet: on, worker } = await start();
      await on.sendEach(numbers(5));
      await until(() => on.emulator.record().distinct === 5, { what: 'sends', ...PATIENCE });
      const idle = async () => {
        const { stdout } = await run(['status', '--json'], on.env);
        return (JSON.parse(stdout) as { jobs: { active: number } }).jobs.active === 0;
      };
      await until(idle, { what: 'the worker to be idle', ...PATIENCE });
      await server.kill(signal);
      expect(await stopped(worker)).toBe(0);
      expect(says(worker, 'stop-timed-out')).toBe(false);
    },
    60_000,
  );

  it('while Redis has not heard an outcome yet: it waits, and nothing is sent twice', async () => {
    const { server, fleet: on, worker } = await start({ SHUTDOWN_TIMEOUT_MS: '30000' });
    on.emulator.addFault({ on: 'send', latencyMs: 1_000 });
    await on.sendEach(numbers(3));
    await until(() => on.emulator.faults()[0]?.fired === 3, {
      what: 'sends under way',
      ...PATIENCE,
    });
    await server.kill('SIGKILL');
    await until(() => on.attempts().length === 3, { what: 'the answers', ...PATIENCE });
    worker.kill('SIGTERM');
    await until(() => says(worker, 'stopping'), { what: 'the stop', ...PATIENCE });
    // Longer than an idle worker would wait for a Redis that is away.
    const later = performance.now() + 3_000;
    await until(() => performance.now() > later, { what: 'a while' });
    expect(says(worker, 'stopped')).toBe(false);
    await server.restart();
    expect(await worker.ended).toBe(0);
    on.emulator.clearFaults();
    await on.addWorker();
    await on.sendEach(numbers(1, 3));
    await until(() => on.emulator.record().distinct === 4, { what: 'one more', ...PATIENCE });
    expect(on.emulator.record()).toMatchObject({ contacts: 4, twice: 0 });
  }, 90_000);

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'while Redis has not heard an outcome, and got a %s: ends with 1 when the time is over',
    async (signal) => {
      const { server, fleet: on, worker } = await start();
      on.emulator.addFault({ on: 'send', latencyMs: 1_000 });
      await on.sendEach(numbers(2));
      await until(() => on.emulator.faults()[0]?.fired === 2, { what: 'sends', ...PATIENCE });
      await server.kill(signal);
      expect(await stopped(worker)).toBe(1);
      expect(says(worker, 'stop-timed-out')).toBe(true);
    },
    90_000,
  );
});
