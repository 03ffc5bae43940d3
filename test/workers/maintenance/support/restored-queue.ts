import { cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import type { OperationOutput } from '../../../../src/ops/operations/operations.ts';
import { run } from '../../../cli/support/run.ts';
import { numbers, type Fleet, type LogLine } from '../../../support/fleet.ts';
import { temporaryFolder } from '../../../support/temporary.ts';
import { until } from '../../../support/wait.ts';
import { fleetOnOwnRedis } from '../../support/own-redis.ts';

export const PATIENCE = { deadlineMs: 60_000 };
const PREFIX = 'restore';

/**
 * Redis writes to its file before it answers. With `everysec` it may write two seconds later, while the
 * disk is busy with a flush: a copy of the file then lacks what was sent, and SIGKILL loses it.
 */
const WRITTEN_AT_ONCE = ['--appendfsync', 'no'];

/** A Redis with an append-only file under real workers; the record of the emulator decides. */
export async function start({ processes = 1, env = {} }) {
  const dir = temporaryFolder();
  const redis = { dir, persistence: true, args: WRITTEN_AT_ONCE };
  const { server, fleet } = await fleetOnOwnRedis(redis, {
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
      CONCURRENCY: '8',
      BATCH_CONCURRENCY: '2',
      ...env,
    },
    emulator: { latencyMs: 30 },
  });
  return { server, fleet, dir };
}

/** Copies what Redis has on its disk, as a backup would. */
export function copyOf(dir: string): string {
  const copy = temporaryFolder();
  cpSync(path.join(dir, 'appendonlydir'), path.join(copy, 'appendonlydir'), { recursive: true });
  return copy;
}

export function putBack(copy: string, dir: string): void {
  rmSync(path.join(dir, 'appendonlydir'), { recursive: true });
  cpSync(path.join(copy, 'appendonlydir'), path.join(dir, 'appendonlydir'), { recursive: true });
}

export const said = (on: Fleet, event: string): LogLine[] =>
  on.workers.flatMap(({ lines }) => lines.filter((line) => line.event === event));

export const sent = (on: Fleet, count: number) =>
  until(() => Number(on.emulator.record().distinct) >= count, {
    what: `${count} sent`,
    everyMs: 5,
    ...PATIENCE,
  });

/** The hold, once a worker has also said what it found. */
export const held = async (on: Fleet) => {
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

export async function stopAll(on: Fleet, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  for (const worker of on.workers) worker.kill(signal);
  await Promise.all(on.workers.map(({ ended }) => ended));
}

export async function listed(
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

export const takenTwice = (on: Fleet): string[] =>
  [...on.emulator.contacts(true)].map(({ contact }) => contact);

export async function handOver(on: Fleet): Promise<void> {
  await on.sendEach(numbers(300));
  const list = numbers(300, 1_000).map((contact) => ({ contact }));
  await on.queue.import(list, { templateCode: 'B', batchId: 'b', chunkSize: 5 });
}
