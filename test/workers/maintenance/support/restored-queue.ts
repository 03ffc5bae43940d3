import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect } from 'vitest';
import { startRedisServer, type RedisServer } from '../../../../scripts/redis/redis-server.ts';
import { pause } from '../../../../src/async/cancellation.ts';
import type { OperationOutput } from '../../../../src/ops/operations/operations.ts';
import { run } from '../../../cli/support/run.ts';
import { numbers, startFleet, type Fleet, type LogLine } from '../../../support/fleet.ts';
import { until } from '../../../support/wait.ts';

export const PATIENCE = { deadlineMs: 30_000 };
const PREFIX = 'restore';

/**
 * Redis writes to its file before it answers. With `everysec` it may write two seconds later, while the
 * disk is busy with a flush: a copy of the file then lacks what was sent, and SIGKILL loses it.
 */
const WRITTEN_AT_ONCE = ['--appendfsync', 'no'];

/** Sends of a worker at a time: so many may be under way when Redis goes away. */
export const IN_FLIGHT = 8;

/** Real copies of a real Redis, put back under real workers; the emulator's record is the judge. */

/** A Redis with an append-only file under real workers, and copies of that file; the record of the emulator decides. */
export function restoredQueue() {
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
        CONCURRENCY: String(IN_FLIGHT),
        BATCH_CONCURRENCY: '2',
        // What is under way when Redis goes away is counted in notices.
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

  /** The hold, once a worker has also said what it found. */
  const held = async (on: Fleet) => {
    await until(() => said(on, 'restored').length > 0, { what: 'a finding', ...PATIENCE });
    return until(
      async () => {
        const { stdout } = await run(['hold', '--json'], on.env);
        const { hold } = JSON.parse(stdout) as { hold?: { kind: string; code: string } };
        return hold?.kind === 'restored' ? hold : undefined;
      },
      { what: 'the hold', ...PATIENCE },
    );
  };

  /** Lets time pass while Redis is down: how long it was down is what these tests vary. */
  const leaveDown = (ms: number) => pause(ms);

  async function stopAll(on: Fleet, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    for (const worker of on.workers) worker.kill(signal);
    await Promise.all(on.workers.map(({ ended }) => ended));
  }

  async function listed(
    on: Fleet,
  ): Promise<{ report: OperationOutput<'restored show'>; numbers: Set<string> }> {
    const json = await run(['restored', '--json'], on.env);
    const csv = await run(['restored', '--csv'], on.env);
    expect([json.code, csv.code]).toEqual([0, 0]);
    const [header, ...rows] = csv.stdout.trim().split(/\r?\n/);
    expect(header).toContain('contact');
    const report = JSON.parse(json.stdout) as OperationOutput<'restored show'>;
    const total = report.batches.reduce((sum, { contacts }) => sum + contacts, 0);
    expect(rows).toHaveLength(report.notices.contacts + total);
    return {
      report,
      numbers: new Set(rows.map((row) => row.split(',')[0]?.replaceAll('"', '') ?? '')),
    };
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

  return {
    freshFolder,
    start,
    copyOf,
    putBack,
    said,
    sent,
    held,
    leaveDown,
    stopAll,
    listed,
    takenTwice,
    handOver,
  };
}
