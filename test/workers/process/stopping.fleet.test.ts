import type { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { startProcess } from '../../cli/support/process.ts';
import { run } from '../../cli/support/run.ts';
import { numbers, type FleetWorker } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';
import { fleetOnOwnRedis } from '../support/own-redis.ts';
import { bullQueue } from '../../support/bull-queue.ts';

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
  CONCURRENCY: '16',
};

/**
 * A worker ends within SHUTDOWN_TIMEOUT_MS, whatever state it is in:
 *
 * | state | ends | code |
 * |---|---|---|
 * | idle, held, paused for Redis | at once | 0 |
 * | sending | when the answer has come, or its time is over | 0 |
 * | waiting for a token | when the issuance has ended | 0 |
 * | sending a half of a refused chunk | after it; the other half waits | 0 |
 * | waiting for a Redis that is away or frozen, before its start | at once | 0 |
 * | Redis away or frozen, nothing under way | after two seconds without an answer | 0 |
 * | Redis away, an outcome is known that it has not heard | when it is back and has heard it | 0 |
 * | the same, and it does not come back | when the time is over | 1 |
 * | any, a second signal a second later | at once | 143 |
 */
describe('a worker that is told to stop', () => {
  async function start(env: Readonly<Record<string, string>> = {}) {
    const { server, fleet } = await fleetOnOwnRedis(
      { persistence: true },
      { prefix: PREFIX, env: { ...ENV, ...env }, emulator: { latencyMs: 20 } },
    );
    onTestFinished(() => server.kill('SIGCONT').catch(() => {}));
    const { emulator } = fleet;
    const [worker] = fleet.workers;
    if (worker === undefined) throw new Error('the fleet has no worker');
    const untilFired = (count: number, fault = 0) =>
      until(() => emulator.faults()[fault]?.fired === count, { what: 'the requests', ...PATIENCE });
    const untilSent = (count: number) =>
      until(() => emulator.record().distinct === count, { what: 'sends', ...PATIENCE });
    return { server, on: fleet, emulator, worker, untilFired, untilSent };
  }

  function openBoard(url: string): Queue {
    const redis = new Redis(url);
    onTestFinished(() => redis.disconnect());
    const board = bullQueue(QUEUE_NAME, redis, keysOf(PREFIX, 'default'));
    return board;
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

  it('gives back at once what waits for a token', async () => {
    const { server, on, emulator, worker } = await start();
    emulator.addFault({ on: 'token', hang: 'before-acting' });
    await on.sendEach(numbers(16));
    const queue = openBoard(server.url);
    await until(async () => (await queue.getActiveCount()) === 16, { what: 'all to wait' });
    expect(await stopped(worker)).toBe(0);
    expect(await queue.getJobCounts('active', 'waiting')).toEqual({ active: 0, waiting: 16 });
    expect(on.attempts()).toEqual([]);
  }, 60_000);

  it('while the service does not answer; a second signal ends it at once', async () => {
    const { worker, on, emulator, untilFired } = await start();
    emulator.addFault({ on: 'send', hang: 'before-acting' });
    await on.sendEach(numbers(3));
    await untilFired(3);
    expect(await stopped(worker)).toBe(0);
    expect(on.attempts().map(({ outcome }) => outcome)).toEqual(['unknown', 'unknown', 'unknown']);

    const other = await on.addWorker();
    await on.sendEach(numbers(3, 3));
    await until(() => Number(emulator.faults()[0]?.fired) > 3, { what: 'sends', ...PATIENCE });
    other.kill('SIGTERM');
    await until(() => says(other, 'stopping'), { what: 'the stop', ...PATIENCE });
    // Signals of the first second are the same request, so one is sent until the process ends.
    const again = setInterval(() => other.kill('SIGTERM'), 100);
    expect(await other.ended.finally(() => clearInterval(again))).toBe(143);
  }, 60_000);

  it('between the halves of a refused chunk: the other half waits', async () => {
    const one = { BATCH_CONCURRENCY: '1' };
    const { worker, on, emulator, untilFired, untilSent } = await start(one);
    // The whole is refused, and each half takes its time.
    emulator.addFault({ on: 'send', status: 400, times: 1 });
    emulator.addFault({ on: 'send', latencyMs: 1_500 });
    const list = numbers(64).map((contact) => ({ contact }));
    await on.queue.import(list, { templateCode: 'T', batchId: 'b', chunkSize: 64, bisect: true });
    await untilFired(1, 1);
    expect(await stopped(worker)).toBe(0);
    const { stdout } = await run(['batch', 'b', '--json'], on.env);
    const { batch } = JSON.parse(stdout) as { batch: { counts: Record<string, number> } };
    expect(batch.counts).toMatchObject({ accepted: 32, pending: 32, sending: 0, unknown: 0 });
    emulator.clearFaults();
    await on.addWorker();
    await untilSent(64);
    expect(emulator.record().twice).toBe(0);
  }, 90_000);

  describe.each(['SIGKILL', 'SIGSTOP'] as const)('while Redis got a %s', (signal) => {
    it('before its start, and idle', async () => {
      const { server, on, worker, untilSent } = await start();
      await on.sendEach(numbers(5));
      await untilSent(5);
      const idle = async () => {
        const { stdout } = await run(['status', '--json'], on.env);
        return (JSON.parse(stdout) as { jobs: { active: number } }).jobs.active === 0;
      };
      await until(idle, { what: 'the worker to be idle', ...PATIENCE });
      await server.kill(signal);
      const late = startProcess(['worker'], on.env);
      await late.says(/waiting-for-redis/);
      const ended = late.ended.then(({ code }) => code);
      expect(await stopped({ kill: (name) => late.child.kill(name), ended })).toBe(0);
      expect(await stopped(worker)).toBe(0);
      expect(says(worker, 'stop-timed-out')).toBe(false);
    }, 90_000);

    it('and has not heard an outcome: ends with 1 when the time is over', async () => {
      const { server, on, emulator, worker, untilFired } = await start();
      emulator.addFault({ on: 'send', latencyMs: 1_000 });
      await on.sendEach(numbers(2));
      await untilFired(2);
      await server.kill(signal);
      expect(await stopped(worker)).toBe(1);
      expect(says(worker, 'stop-timed-out')).toBe(true);
    }, 90_000);
  });

  it('while Redis has not heard an outcome yet: it waits, and nothing is sent twice', async () => {
    const { server, on, emulator, worker, untilFired, untilSent } = await start({
      SHUTDOWN_TIMEOUT_MS: '30000',
    });
    emulator.addFault({ on: 'send', latencyMs: 1_000 });
    await on.sendEach(numbers(3));
    await untilFired(3);
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
    emulator.clearFaults();
    await on.addWorker();
    await on.sendEach(numbers(1, 3));
    await untilSent(4);
    expect(emulator.record()).toMatchObject({ contacts: 4, twice: 0 });
  }, 90_000);
});
