import { parse } from 'csv-parse/sync';
import type { Redis } from 'ioredis';
import { isOver as isBatchOver } from '../../../src/cli/batches/batch-view.ts';
import type { OperationOutput } from '../../../src/ops/operations/operations.ts';
import type { Batch } from '../../../src/batch/ledger/batch-record.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { fleetMetrics } from '../../../src/metrics/fleet-metrics.ts';
import { readFleet } from '../../../src/ops/snapshot.ts';
import type { Status } from '../../../src/ops/status.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import { run } from '../../cli/support/run.ts';
import { readExposition } from '../../metrics/exposition.ts';
import type { Fleet } from '../../support/fleet.ts';
import type { Evidence } from './judge.ts';
import { type Load } from './load.ts';
import { BATCH, ATTEMPTS, UNKNOWN_RESENDS } from './settings.ts';

/**
 * Runs the commands that a user would run, and reads log, metrics and the record of the service. Call it
 * after the workers have ended.
 */
export async function gatherEvidence(
  redis: Redis,
  keys: Keys,
  load: Load,
  fleet: Pick<Fleet, 'emulator' | 'attempts' | 'env'>,
): Promise<Evidence> {
  const { emulator } = fleet;
  const status = await json<Status>(fleet, 'status');
  const { batch } = await json<{ batch: Batch }>(fleet, 'batch', BATCH);
  const unknown = await json<OperationOutput<'unknown'>>(fleet, 'unknown', '--limit', '1000000');
  const { tokens, revocations } = emulator.record();
  const acceptedAt = new Map<string, number>();
  for (const { contact, at } of emulator.details()) {
    if (!acceptedAt.has(contact)) acceptedAt.set(contact, at);
  }
  return {
    delivery: load.delivery,
    listed: load.listed,
    spoiled: load.spoiled,
    notices: load.notices,
    bad: load.bad,
    handedAt: load.handedAt,
    record: new Map([...emulator.contacts()].map(({ contact, count }) => [contact, count])),
    acceptedAt,
    issued: tokens.issued,
    invalidated: revocations + tokens.foreign,
    status,
    batch: batch.counts,
    unknown: { notices: unknown.notices, ofBatch: await unknownOfBatch(fleet, batch) },
    metrics: await metricsOf(redis, keys),
    attempts: fleet.attempts(),
    attemptsOfJob: ATTEMPTS,
    unknownResends: UNKNOWN_RESENDS,
  };
}

async function json<Answer>({ env }: Pick<Fleet, 'env'>, ...args: string[]): Promise<Answer> {
  const { code, stdout, stderr } = await run([...args, '--json'], env);
  if (code !== 0) throw new Error(`notices ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Answer;
}

/** The contacts of a batch that are unknown. */
async function unknownOfBatch(
  { env }: Pick<Fleet, 'env'>,
  { counts }: Pick<Batch, 'counts'>,
): Promise<string[]> {
  if (counts.unknown === 0) return [];
  const { stdout } = await run(['failures', BATCH, '--state', 'unknown', '--csv'], env);
  const rows = parse(stdout, { columns: true }) as unknown as readonly { contact: string }[];
  return rows.map(({ contact }) => contact);
}

async function metricsOf(redis: Redis, keys: Keys): Promise<Evidence['metrics']> {
  const { value } = readExposition(await fleetMetrics({ redis, keys }).text());
  const of = (lane: string) => value('notices_possibly_sent_twice_contacts', { lane }) ?? NaN;
  return { notices: of('notices'), chunks: of('chunks') };
}

/** What `notices status` and `notices batch` show, over one connection: some are read ten times a second. */
async function look(redis: Redis, keys: Keys) {
  const [{ noticeJobs, hold }, batch] = await Promise.all([
    readFleet({ redis, keys }, 'noticeJobs', 'hold'),
    new Ledger(redis, keys).read(BATCH),
  ]);
  return { noticeJobs, hold, batch };
}

/** Whether every notice and the whole batch have ended. */
export async function isOver(redis: Redis, keys: Keys): Promise<boolean> {
  const { noticeJobs, batch } = await look(redis, keys);
  const { waiting, active, delayed } = noticeJobs;
  return batch !== undefined && isBatchOver(batch) && waiting + active + delayed === 0;
}

/** State of a load that does not end, for the message. */
export async function whatIsOpen(redis: Redis, keys: Keys): Promise<object> {
  const { noticeJobs, batch, hold } = await look(redis, keys);
  return { phase: batch?.phase, counts: batch?.counts, hold, noticeJobs };
}
