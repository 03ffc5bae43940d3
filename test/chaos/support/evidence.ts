import { parse } from 'csv-parse/sync';
import type { Redis } from 'ioredis';
import { isOver as isBatchOver } from '../../../src/cli/batches/follow-batch.ts';
import type { OperationOutput } from '../../../src/ops/operations/operations.ts';
import { chunkJobId } from '../../../src/contracts/job.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { fleetMetrics } from '../../../src/metrics/fleet-metrics.ts';
import { contactsOfPart } from '../../../src/ops/entries.ts';
import { readFleet } from '../../../src/ops/snapshot.ts';
import type { Status } from '../../../src/ops/status.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import { run } from '../../cli/support/run.ts';
import { readExposition } from '../../metrics/exposition.ts';
import type { Fleet } from '../../support/fleet.ts';
import { tellApart, type Part } from './apart.ts';
import type { Evidence, HandedOver } from './judge.ts';
import { ATTEMPTS, UNKNOWN_RESENDS } from './settings.ts';

/**
 * Runs the commands that a user would run, and reads log, metrics and the record of the service: the evidence of each
 * load. Call it after the workers have ended.
 */
export async function gatherEvidence(
  redis: Redis,
  keys: Keys,
  loads: readonly HandedOver[],
  fleet: Fleet,
): Promise<Evidence[]> {
  const { emulator, env } = fleet;
  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(args, env);
    if (code !== 0) throw new Error(`notices ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  };
  const json = async <Answer>(...args: string[]) =>
    JSON.parse(await command(...args, '--json')) as Answer;
  const parts: Part[] = [];
  for (const load of loads) {
    const { batch } = await json<OperationOutput<'batch'>>('batch', load.delivery);
    const csv =
      batch.counts.unknown === 0
        ? 'contact\n'
        : await command('failures', load.delivery, '--state', 'unknown', '--csv');
    const rows = parse(csv, { columns: true, bom: true }) as unknown as readonly {
      contact: string;
    }[];
    const chunks = await chunksOfUnknown(new Ledger(redis, keys), load.delivery);
    const unknownOfBatch = new Map(
      rows.map(({ contact }) => [
        contact,
        chunkJobId({ batch: load.delivery, chunk: chunks.get(contact) ?? NaN }),
      ]),
    );
    parts.push({ load, batch: batch.counts, unknownOfBatch });
  }
  const { notices } = await json<OperationOutput<'failures'>>('failures', '--limit', '1000000');
  const { value } = readExposition(await fleetMetrics({ redis, keys }).text());
  const metric = (lane: string) => value('notices_possibly_sent_twice_contacts', { lane }) ?? NaN;
  const { tokens, revocations } = emulator.record();
  const acceptedAt = new Map<string, number>();
  for (const { contact, at } of emulator.details()) {
    if (!acceptedAt.has(contact)) acceptedAt.set(contact, at);
  }
  const whole = {
    acceptedAt,
    status: await json<Status>('status'),
    record: new Map([...emulator.contacts()].map(({ contact, count }) => [contact, count])),
    issued: tokens.issued,
    invalidated: revocations + tokens.foreign,
    failures: notices,
    metrics: { notices: metric('notices'), chunks: metric('chunks') },
    attempts: fleet.attempts(),
    attemptsOfJob: ATTEMPTS,
    unknownResends: UNKNOWN_RESENDS,
  };
  return tellApart(whole, parts);
}

/** In which chunk unknown contacts of a batch are: parts of halved ones take numbers of their own, among those of the list. */
async function chunksOfUnknown(ledger: Ledger, id: string): Promise<Map<string, number>> {
  const chunks = new Map<string, number>();
  for await (const { state, name } of ledger.failures(id)) {
    if (state !== 'unknown') continue;
    for (const { contact } of (await contactsOfPart({ ledger }, { id }, name)) ?? []) {
      chunks.set(contact, Number.parseInt(name, 10));
    }
  }
  return chunks;
}

/** What is open of the loads, over one connection: it is asked ten times a second. */
export async function openLoad(redis: Redis, keys: Keys, loads: readonly HandedOver[]) {
  const ledger = new Ledger(redis, keys);
  const [{ noticeJobs, hold }, ...batches] = await Promise.all([
    readFleet({ redis, keys }, 'noticeJobs', 'hold'),
    ...loads.map(({ delivery }) => ledger.read(delivery)),
  ]);
  const { waiting, active, delayed } = noticeJobs;
  const areOver = batches.every((batch) => batch !== undefined && isBatchOver(batch));
  const isOver = areOver && waiting + active + delayed === 0;
  const counts = batches.map((batch) => ({ phase: batch?.phase, ...batch?.counts }));
  return { isOver, counts, hold, noticeJobs };
}

/** How often attempts ended in which way, and with which code, since a time: milliseconds since the epoch. */
export function endsByCode(fleet: Fleet, since = 0): Readonly<Record<string, number>> {
  const ends: Record<string, number> = {};
  for (const { outcome, code, probe, time } of fleet.attempts()) {
    if (Date.parse(String(time)) < since) continue;
    const end = [outcome, code, probe === true ? 'probe' : undefined].filter(Boolean).join(' ');
    ends[end] = (ends[end] ?? 0) + 1;
  }
  return ends;
}

/** The holds that workers have told of, of the account and of templates. */
export function holdsSeen({ workers }: Fleet): ReadonlySet<string> {
  const seen = workers.flatMap(({ lines }) =>
    lines.flatMap(({ event, kind, hold }) => {
      if (event === 'template-held') return [String(kind)];
      return event === 'hold' && kind === 'held' ? [String(hold)] : [];
    }),
  );
  return new Set(seen);
}
