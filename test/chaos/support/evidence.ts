import { parse } from 'csv-parse/sync';
import type { Redis } from 'ioredis';
import { isOver as isBatchOver } from '../../../src/cli/batches/follow-batch.ts';
import type { OperationOutput } from '../../../src/ops/operations/operations.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { fleetMetrics } from '../../../src/metrics/fleet-metrics.ts';
import { readFleet } from '../../../src/ops/snapshot.ts';
import type { Status } from '../../../src/ops/status.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import { run } from '../../cli/support/run.ts';
import { readExposition } from '../../metrics/exposition.ts';
import type { Fleet } from '../../support/fleet.ts';
import type { Evidence, HandedOver } from './judge.ts';
import { ATTEMPTS, BATCH, UNKNOWN_RESENDS } from './settings.ts';

/**
 * Runs the commands that a user would run, and reads log, metrics and the record of the service. Call it
 * after the workers have ended.
 */
export async function gatherEvidence(
  redis: Redis,
  keys: Keys,
  handedOver: HandedOver,
  fleet: Fleet,
): Promise<Evidence> {
  const { emulator, env } = fleet;
  const { delivery, listed, spoiled, notices, bad, handedAt } = handedOver;
  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(args, env);
    if (code !== 0) throw new Error(`notices ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  };
  const json = async <Answer>(...args: string[]) =>
    JSON.parse(await command(...args, '--json')) as Answer;
  const status = await json<Status>('status');
  const { batch } = await json<OperationOutput<'batch'>>('batch', BATCH);
  const unknown = await json<OperationOutput<'failures'>>(
    'failures',
    '--state',
    'unknown',
    '--limit',
    '1000000',
  );
  const csv =
    batch.counts.unknown === 0
      ? 'contact\n'
      : await command('failures', BATCH, '--state', 'unknown', '--csv');
  const rows = parse(csv, { columns: true }) as unknown as readonly { contact: string }[];
  const { value } = readExposition(await fleetMetrics({ redis, keys }).text());
  const metric = (lane: string) => value('notices_possibly_sent_twice_contacts', { lane }) ?? NaN;
  const { tokens, revocations } = emulator.record();
  const acceptedAt = new Map<string, number>();
  for (const { contact, at } of emulator.details()) {
    if (!acceptedAt.has(contact)) acceptedAt.set(contact, at);
  }
  return {
    delivery,
    listed,
    spoiled,
    notices,
    bad,
    handedAt,
    acceptedAt,
    status,
    record: new Map([...emulator.contacts()].map(({ contact, count }) => [contact, count])),
    issued: tokens.issued,
    invalidated: revocations + tokens.foreign,
    batch: batch.counts,
    unknown: { notices: unknown.notices, ofBatch: rows.map(({ contact }) => contact) },
    metrics: { notices: metric('notices'), chunks: metric('chunks') },
    attempts: fleet.attempts(),
    attemptsOfJob: ATTEMPTS,
    unknownResends: UNKNOWN_RESENDS,
  };
}

/** What is open of a load, over one connection: it is asked ten times a second. */
export async function openLoad(redis: Redis, keys: Keys) {
  const [{ noticeJobs, hold }, batch] = await Promise.all([
    readFleet({ redis, keys }, 'noticeJobs', 'hold'),
    new Ledger(redis, keys).read(BATCH),
  ]);
  const { waiting, active, delayed } = noticeJobs;
  const isOver = batch !== undefined && isBatchOver(batch) && waiting + active + delayed === 0;
  return { isOver, phase: batch?.phase, counts: batch?.counts, hold, noticeJobs };
}
