import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { startRedisServer, type RedisServer } from '../../../scripts/redis/redis-server.ts';
import type { RestoredReport } from '../../../src/ops/restored.ts';
import { run } from '../../cli/support/run.ts';
import { numbers, startFleet, type Fleet, type LogLine } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';

const PATIENCE = { deadlineMs: 30_000 };
const PREFIX = 'restore';

/**
 * Redis writes to its file before it answers. With `everysec` it may write two seconds later, while the
 * disk is busy with a flush: a copy of the file then lacks what was sent, and SIGKILL loses it.
 */
const WRITTEN_AT_ONCE = ['--appendfsync', 'no'];

/** Sends of a worker at a time: so many may be under way when Redis goes away. */
const IN_FLIGHT = 8;

/** Real copies of a real Redis, put back under real workers; the emulator's record is the judge. */
describe('an old copy of the queue', () => {
  const folders: string[] = [];
  let server: RedisServer | undefined;
  let fleet: Fleet | undefined;

  afterEach(async () => {
    await fleet?.close();
    await server?.close();
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
    fleet = undefined;
    server = undefined;
  });

  function freshFolder(): string {
    const folder = mkdtempSync(path.join(tmpdir(), 'notices-copy-'));
    folders.push(folder);
    return folder;
  }

  async function start(
    options: { persistence?: boolean; processes?: number; env?: Record<string, string> } = {},
  ) {
    const dir = freshFolder();
    const { persistence = true, processes = 1, env = {} } = options;
    const started = await startRedisServer({ dir, persistence, args: WRITTEN_AT_ONCE });
    server = started;
    const on = await startFleet({
      redisUrl: started.url,
      prefix: PREFIX,
      processes,
      env: {
        HEARTBEAT_MS: '200',
        RESTORE_GAP_MS: '1000',
        RESTORE_TOLERANCE_MS: '0',
        LOCK_DURATION_MS: '4000',
        SEND_DEADLINE_MS: '1500',
        ANSWER_TIMEOUT_MS: '1000',
        CONNECT_TIMEOUT_MS: '500',
        ISSUE_DEADLINE_MS: '1500',
        STALLED_INTERVAL_MS: '500',
        CONCURRENCY: String(IN_FLIGHT),
        BATCH_CONCURRENCY: '2',
        // What is under way when Redis goes away is counted in notices.
        COALESCE_MAX_CONTACTS: '1',
        ...env,
      },
      emulator: { latencyMs: 30 },
    });
    fleet = on;
    return { server: started, fleet: on, dir };
  }

  /** Copies what Redis has on its disk, as a backup would. */
  function copyOf(dir: string): string {
    const copy = freshFolder();
    cpSync(path.join(dir, 'appendonlydir'), path.join(copy, 'appendonlydir'), { recursive: true });
    return copy;
  }

  function putBack(copy: string, dir: string): void {
    rmSync(path.join(dir, 'appendonlydir'), { recursive: true });
    cpSync(path.join(copy, 'appendonlydir'), path.join(dir, 'appendonlydir'), { recursive: true });
  }

  const said = (on: Fleet, event: string): LogLine[] =>
    on.workers.flatMap(({ lines }) => lines.filter((line) => line.event === event));

  const sent = (on: Fleet, count: number) =>
    until(() => Number(on.emulator.record().distinct) >= count, {
      what: `${count} sent`,
      everyMs: 5,
      ...PATIENCE,
    });

  const held = (on: Fleet) =>
    until(
      async () => {
        const { stdout } = await run(['hold', '--json'], on.env);
        const { hold } = JSON.parse(stdout) as { hold?: { kind: string; code: string } };
        return hold?.kind === 'restored' ? hold : undefined;
      },
      { what: 'the hold', everyMs: 200, ...PATIENCE },
    );

  const wait = async (ms: number) => {
    const end = performance.now() + ms;
    await until(() => performance.now() > end, { what: 'a while' });
  };

  async function stopAll(on: Fleet, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    for (const worker of on.workers) worker.kill(signal);
    await Promise.all(on.workers.map(({ ended }) => ended));
  }

  async function listed(on: Fleet): Promise<{ report: RestoredReport; numbers: Set<string> }> {
    const json = await run(['restored', '--json'], on.env);
    const csv = await run(['restored', '--csv'], on.env);
    expect([json.code, csv.code]).toEqual([0, 0]);
    const [header, ...rows] = csv.stdout.trim().split(/\r?\n/);
    expect(header).toContain('contact');
    const report = JSON.parse(json.stdout) as RestoredReport;
    const total = report.batches.reduce((sum, { contacts }) => sum + contacts, 0);
    expect(rows).toHaveLength(report.notices.contacts + total);
    return {
      report,
      numbers: new Set(rows.map((row) => row.split(',')[0]?.replaceAll('"', '') ?? '')),
    };
  }

  /** Waits until every worker has been heard twice more: the copy lacks what they remember then. */
  async function heartbeats(on: Fleet): Promise<void> {
    const redis = new Redis(on.env['REDIS_URL'] ?? '');
    const beats = async () => Number(await redis.hget(`{${PREFIX}:default}:epoch`, 'beats'));
    const wanted = (await beats()) + 2 * on.workers.filter(({ gone }) => !gone).length;
    await until(async () => (await beats()) >= wanted, { what: 'heartbeats', ...PATIENCE });
    redis.disconnect();
  }

  const takenTwice = (on: Fleet): string[] =>
    [...on.emulator.contacts(true)].map(({ contact }) => contact);

  const LIST = numbers(300, 1_000);

  async function handOver(on: Fleet): Promise<void> {
    await on.sendEach(numbers(300));
    await on.queue.import(
      (function* list() {
        for (const contact of LIST) yield { contact };
      })(),
      { templateCode: 'B', batchId: 'b', chunkSize: 5 },
    );
  }

  it('restored while everything was stopped: held before anything is sent, reported, and lifted manually', async () => {
    const { server, fleet: on, dir } = await start({ processes: 2 });
    await handOver(on);
    await sent(on, 100);
    const copy = copyOf(dir);
    await sent(on, 300);
    await stopAll(on, 'SIGKILL');
    await server.kill('SIGKILL');
    const before = on.emulator.record();
    putBack(copy, dir);
    // So long that it may be a copy from last night.
    await wait(1_500);
    await server.restart();

    await Promise.all([on.addWorker(), on.addWorker()]);
    expect(await held(on)).toMatchObject({ code: 'gap' });
    expect(said(on, 'restored')).toHaveLength(1);
    await wait(1_000);
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
    const twice = takenTwice(on);
    expect(twice.length).toBeGreaterThan(100);
    for (const number of twice) expect(might).toContain(number);
    await on.addWorker();
    expect((await run(['hold'], on.env)).stdout.trim()).toBe('none');
    const audit = await run(['audit'], on.env);
    expect(audit.stdout).toContain('lifted restored');
  }, 180_000);

  it('restored under running workers: they remember, and send nothing from it', async () => {
    const { server, fleet: on, dir } = await start({ processes: 2 });
    await handOver(on);
    await sent(on, 100);
    const copy = copyOf(dir);
    await sent(on, 250);
    await heartbeats(on);
    await server.kill('SIGKILL');
    putBack(copy, dir);
    await server.restart();
    expect(await held(on)).toMatchObject({ code: 'went-back' });
    expect(said(on, 'restored')).toHaveLength(1);
    const { requests } = on.emulator.record();
    await wait(1_500);
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
    await heartbeats(on);
    await server.kill('SIGKILL');
    putBack(copy, dir);
    await server.restart();
    await held(on);
    const { numbers: might, report } = await listed(on);
    expect(report.notices.jobs).toBeGreaterThan(100);
    expect((await run(['restored', 'park'], on.env)).code).toBe(2);
    const parked = await run(['restored', 'park', '--yes', '--json'], on.env);
    expect(JSON.parse(parked.stdout)).toMatchObject({ jobs: report.notices.jobs, notHeld: false });
    // Again, as if it had been cut short.
    expect((await run(['restored', 'park', '--yes'], on.env)).code).toBe(0);
    const fresh = '01099999999';
    const { requests } = on.emulator.record();
    await run(['hold', 'lift'], on.env);
    const unknown = async () => {
      const { stdout } = await run(['unknown', '--json'], on.env);
      return (JSON.parse(stdout) as { notices: unknown[] }).notices.length;
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
    expect(await run(['resolve', '--all', '--as', 'resend', '--yes'], on.env)).toMatchObject({
      code: 0,
    });
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
    await heartbeats(on);
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
    await heartbeats(on);
    await server.kill('SIGKILL');
    putBack(copy, dir);
    await server.restart();
    await until(() => said(on, 'restored').length === 1, { what: 'the warning', ...PATIENCE });
    expect(said(on, 'restored')[0]).toMatchObject({ verdict: 'warned', why: 'went-back' });
    await on.sendEach(numbers(1, 100));
    await sent(on, 31);
    expect((await run(['restored'], on.env)).stdout).toContain('none: only warned');

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
      await wait(1_500);
      const late = on.addWorker();
      await server.restart();
      await late;
      await sent(on, 300);
      expect(said(on, 'restored')).toEqual([]);
      expect((await run(['restored'], on.env)).stdout).toContain('never looked like');
    }, 120_000);

    it('after a clean shutdown of everything', async () => {
      const { server, fleet: on } = await start({ processes: 2 });
      await on.sendEach(numbers(50));
      await sent(on, 50);
      await stopAll(on, 'SIGTERM');
      await on.sendEach(numbers(10, 50));
      await server.kill('SIGTERM');
      await wait(1_500);
      await server.restart();
      await on.addWorker();
      await sent(on, 60);
      expect(said(on, 'restored')).toEqual([]);
      expect(on.emulator.record().twice).toBe(0);
    }, 120_000);

    it('after a power cut that a file remembers', async () => {
      const state = path.join(freshFolder(), 'state.json');
      const { server, fleet: on } = await start({ env: { STATE_FILE: state } });
      await on.sendEach(numbers(50));
      await sent(on, 50);
      await stopAll(on, 'SIGKILL');
      await server.kill('SIGKILL');
      await wait(1_500);
      await server.restart();
      await on.addWorker();
      await on.sendEach(numbers(10, 50));
      await sent(on, 60);
      expect(said(on, 'restored')).toEqual([]);
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
