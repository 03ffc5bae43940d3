import { BATCH_PHASES, CONTACT_STATES } from '../batch/ledger/batch-record.ts';
import { COMPARED_VARIABLES } from '../contracts/version.ts';
import { LANES } from '../contracts/outcome.ts';
import { NEWEST_BATCHES } from '../ops/snapshot.ts';
import type { MetricRows } from './registry.ts';
import { HOLD_KINDS } from './worker-table.ts';

/** The holds of the account: `template` is of one template. */
export const ACCOUNT_HOLDS = HOLD_KINDS.filter((kind) => kind !== 'template');

/** States of jobs that are counted. */
export const JOB_STATES = ['waiting', 'active', 'delayed', 'failed'] as const;

const NEWEST = `of the ${NEWEST_BATCHES} newest batches`;

/** Metrics of the account as Redis has it, independent of workers; read once per scrape. */
export const FLEET_METRICS = {
  notices_redis_up: {
    type: 'gauge',
    help: '1 if Redis answered this scrape; else 0, and no other metric is exported.',
  },
  notices_jobs: {
    type: 'gauge',
    help: 'Jobs by lane and state. Delayed jobs wait for their time or their next attempt.',
    labels: { lane: LANES, state: JOB_STATES },
  },
  notices_oldest_waiting_seconds: {
    type: 'gauge',
    help: 'Time since the job that is taken next was due, or was sent again; with priorities others may have waited longer. 0 if none waits.',
    labels: { lane: LANES },
  },
  notices_held: {
    type: 'gauge',
    help: '1 for the hold in force, 0 for the others.',
    labels: { hold: ACCOUNT_HOLDS },
  },
  notices_hold_seconds: {
    type: 'gauge',
    help: 'Duration of the hold in force; 0 for the others.',
    labels: { hold: ACCOUNT_HOLDS },
  },
  notices_hold_failed_probes: {
    type: 'gauge',
    help: 'Consecutive failed probes of the hold in force.',
  },
  notices_held_templates: {
    type: 'gauge',
    help: 'Templates whose notices and lists wait while others are sent.',
  },
  notices_unknown_notices: {
    type: 'gauge',
    help: 'Single notices whose outcome is unknown and not resolved.',
  },
  notices_possibly_sent_twice_contacts: {
    type: 'gauge',
    help: 'Contacts sent again although the service may have accepted an earlier request, since the account exists: at most so many acceptances are duplicates. It decreases when a response proves that nothing was accepted.',
    labels: { lane: LANES },
  },
  notices_batches: {
    type: 'gauge',
    help: `Batches by phase, ${NEWEST}.`,
    labels: { phase: BATCH_PHASES },
  },
  notices_batch_contacts: {
    type: 'gauge',
    help: `Contacts by state, ${NEWEST}; unknown ones, which wait to be resolved, of all batches.`,
    labels: { state: CONTACT_STATES },
  },
  notices_batch_standstill_seconds: {
    type: 'gauge',
    help: `Longest time without progress of a batch that is importing or sending and has pending contacts, ${NEWEST}.`,
  },
  notices_batch_retention_contacts: {
    type: 'gauge',
    help: `Rejected, unknown or expired contacts that will be deleted soon, ${NEWEST}.`,
  },
  notices_unsent_contacts: {
    type: 'gauge',
    help: 'Contacts of batches that are stored and not sent yet; imports pause at HIGH_WATER.',
  },
  notices_workers: {
    type: 'gauge',
    help: 'Live worker processes, by their heartbeats.',
  },
  notices_worker_versions: {
    type: 'gauge',
    help: 'Different versions among the live workers; above 1 during an update.',
  },
  notices_worker_settings_differ: {
    type: 'gauge',
    help: '1 for a variable in which live workers differ, 0 for the others.',
    labels: { variable: COMPARED_VARIABLES },
  },
  notices_token_age_seconds: {
    type: 'gauge',
    help: 'Age of the shared token. Absent if none is stored, or BASE_URL and ACCESS_KEY are not set.',
  },
  notices_token_issuances: {
    type: 'gauge',
    help: 'Issuances of all workers within ten minutes. Absent if BASE_URL and ACCESS_KEY are not set.',
  },
  notices_token_refused: {
    type: 'gauge',
    help: '1 while no token is issued because the last issuance failed. Absent if BASE_URL and ACCESS_KEY are not set.',
  },
  notices_redis_memory_bytes: {
    type: 'gauge',
    help: 'Memory that Redis uses.',
  },
  notices_redis_memory_limit_bytes: {
    type: 'gauge',
    help: 'maxmemory or, if not set, the memory of the machine. Absent if Redis reports neither.',
  },
  notices_redis_evicts: {
    type: 'gauge',
    help: '1 if maxmemory-policy is not noeviction: Redis would delete notices.',
  },
  notices_redis_aof: {
    type: 'gauge',
    help: '1 if the append-only file is on. Without it, a crash loses everything since the last snapshot.',
  },
  notices_redis_persistence_ok: {
    type: 'gauge',
    help: '1 if the last writes of the append-only file and of the snapshot succeeded.',
  },
} as const satisfies MetricRows;
