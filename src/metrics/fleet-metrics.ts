import { Registry } from 'prom-client';
import { BATCH_PHASES, CONTACT_STATES, type Batch } from '../batch/ledger/batch-record.ts';
import { nearEndOfRetention } from '../batch/ledger/retention.ts';
import { LANES } from '../contracts/outcome.ts';
import { COMPARED_VARIABLES } from '../contracts/version.ts';
import { differingSettings } from '../fleet/heartbeat.ts';
import { evicts } from '../redis/suitability.ts';
import {
  readFleet,
  type FleetFact,
  type FleetSnapshot,
  type FleetSource,
} from '../ops/snapshot.ts';
import { ACCOUNT_HOLDS, FLEET_METRICS, JOB_STATES } from './fleet-table.ts';
import { MetricTable } from './registry.ts';

/** Content type of responses with metrics. */
export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** The metrics of the account, read from Redis at each scrape. */
export interface FleetMetrics {
  /** In the text format of Prometheus; calls at the same time share one read. Never rejects. */
  text(): Promise<string>;
}

/** Facts that the metrics are made of; the number of commands does not depend on what waits. */
const FACTS = [
  'now',
  'hold',
  'templateHolds',
  'workers',
  'token',
  'redis',
  'noticeJobs',
  'chunkJobs',
  'noticeWaitingSince',
  'chunkWaitingSince',
  'unknownNotices',
  'possiblySentTwice',
  'batches',
  'unknownContacts',
  'unsentContacts',
] as const satisfies readonly FleetFact[];

/** What the metrics are made of. */
type MetricsSnapshot = Pick<FleetSnapshot, (typeof FACTS)[number]>;

/**
 * Makes the metrics of the whole account for one server, such as the ops server; each worker has
 * metrics of its own. Where Redis does not answer they are `notices_redis_up 0` and nothing else.
 *
 * @param source its Redis client should have a command timeout, so that a scrape ends in time
 */
export function fleetMetrics(source: FleetSource): FleetMetrics {
  let running: Promise<string> | undefined;

  const scrape = async (): Promise<string> => {
    try {
      return await fleetText(await readFleet(source, ...FACTS).catch(() => undefined));
    } finally {
      running = undefined;
    }
  };
  return { text: () => (running ??= scrape()) };
}

/** @param snapshot undefined where Redis did not answer */
async function fleetText(snapshot: MetricsSnapshot | undefined): Promise<string> {
  // A new registry each time, so that series that no longer apply disappear.
  const table = new MetricTable(FLEET_METRICS);
  table.metric('notices_redis_up').set(snapshot === undefined ? 0 : 1);
  if (snapshot !== undefined) {
    setQueues(table, snapshot);
    setHold(table, snapshot);
    setBatches(table, snapshot);
    setWorkersAndToken(table, snapshot);
    setRedis(table, snapshot);
  }
  return table.registry.metrics();
}

type FleetMetricTable = MetricTable<typeof FLEET_METRICS>;

const seconds = (ms: number) => Math.max(0, ms) / 1_000;

function setQueues(table: FleetMetricTable, snapshot: MetricsSnapshot): void {
  const { now, noticeJobs, chunkJobs, noticeWaitingSince, chunkWaitingSince } = snapshot;
  const jobs = table.metric('notices_jobs');
  const oldest = table.metric('notices_oldest_waiting_seconds');
  for (const [lane, counts, since] of [
    ['notices', noticeJobs, noticeWaitingSince],
    ['chunks', chunkJobs, chunkWaitingSince],
  ] as const) {
    for (const state of JOB_STATES) jobs.set({ lane, state }, counts[state]);
    oldest.set({ lane }, seconds(now - (since ?? now)));
  }
  table.metric('notices_unknown_notices').set(snapshot.unknownNotices);
  const sentTwice = table.metric('notices_possibly_sent_twice_contacts');
  for (const lane of LANES) sentTwice.set({ lane }, snapshot.possiblySentTwice[lane]);
}

function setHold(table: FleetMetricTable, { now, hold, templateHolds }: MetricsSnapshot): void {
  const held = table.metric('notices_held');
  const since = table.metric('notices_hold_seconds');
  for (const kind of ACCOUNT_HOLDS) {
    const inForce = kind === hold?.kind;
    held.set({ hold: kind }, inForce ? 1 : 0);
    since.set({ hold: kind }, inForce && hold !== undefined ? seconds(now - hold.since) : 0);
  }
  table.metric('notices_hold_failed_probes').set(hold?.failedProbes ?? 0);
  table.metric('notices_held_templates').set(templateHolds.length);
}

function setBatches(
  table: FleetMetricTable,
  { now, batches, unknownContacts, unsentContacts }: MetricsSnapshot,
): void {
  const phases = table.metric('notices_batches');
  for (const phase of BATCH_PHASES) {
    phases.set({ phase }, batches.filter((batch) => batch.phase === phase).length);
  }
  const states = table.metric('notices_batch_contacts');
  for (const state of CONTACT_STATES) {
    const ofNewest = sum(batches, ({ counts }) => counts[state]);
    states.set({ state }, state === 'unknown' ? unknownContacts : ofNewest);
  }
  const moving = batches.filter(
    ({ phase, counts }) => (phase === 'importing' || phase === 'sending') && counts.pending > 0,
  );
  const stillMs = moving.map(({ movedAt, begunAt }) => now - Math.max(movedAt, begunAt));
  table.metric('notices_batch_standstill_seconds').set(seconds(Math.max(0, ...stillMs)));
  table
    .metric('notices_batch_retention_contacts')
    .set(sum(batches, (batch) => nearEndOfRetention(batch, now)?.contacts ?? 0));
  table.metric('notices_unsent_contacts').set(unsentContacts);
}

function setWorkersAndToken(table: FleetMetricTable, { workers, token }: MetricsSnapshot): void {
  table.metric('notices_workers').set(workers.length);
  table.metric('notices_worker_versions').set(new Set(workers.map(({ version }) => version)).size);
  const differ = table.metric('notices_worker_settings_differ');
  const differing = new Set<string>(differingSettings(workers).map(({ variable }) => variable));
  for (const variable of COMPARED_VARIABLES) {
    differ.set({ variable }, differing.has(variable) ? 1 : 0);
  }
  if (token === undefined) return;
  if (token.token !== undefined) {
    table.metric('notices_token_age_seconds').set(seconds(token.token.ageMs));
  }
  table.metric('notices_token_issuances').set(token.issuances);
  table.metric('notices_token_refused').set(token.refusal === undefined ? 0 : 1);
}

/** Without maxmemory, the memory of the machine is the limit. */
function setRedis(table: FleetMetricTable, { redis }: MetricsSnapshot): void {
  const limit = redis.maxBytes || redis.machineBytes;
  table.metric('notices_redis_memory_bytes').set(redis.usedBytes);
  if (limit > 0) table.metric('notices_redis_memory_limit_bytes').set(limit);
  table.metric('notices_redis_evicts').set(evicts(redis.policy) ? 1 : 0);
  table.metric('notices_redis_aof').set(redis.persistence === 'aof' ? 1 : 0);
  table.metric('notices_redis_persistence_ok').set(redis.saveFailed ? 0 : 1);
}

const sum = (batches: readonly Batch[], of: (batch: Batch) => number) =>
  batches.reduce((total, batch) => total + of(batch), 0);
