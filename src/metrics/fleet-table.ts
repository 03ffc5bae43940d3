import { CONTACT_STATES, type BatchPhase } from '../batch/ledger/batch-record.ts';
import { LANES } from '../contracts/seen-attempt.ts';
import type { MetricRows } from './metric.ts';
import { HOLD_KINDS } from './worker-table.ts';

/** Where a job can be, as far as it is counted here. */
export const JOB_STATES = ['waiting', 'active', 'delayed', 'failed'] as const;

/** Phases of a batch, in the order of its life. */
export const BATCH_PHASES = [
  'importing',
  'sending',
  'paused',
  'finished',
  'cancelled',
] as const satisfies readonly BatchPhase[];

/** So many of the newest batches are looked at. */
export const BATCHES_LOOKED_AT = 500;

const NEWEST = `of the ${BATCHES_LOOKED_AT} newest batches`;

/** What Redis knows of the account, whichever worker or none runs. Asked for once per scrape. */
export const FLEET_METRICS = {
  notices_redis_up: {
    type: 'gauge',
    help: '1 where Redis answered this scrape, else 0 and nothing else is exported.',
  },
  notices_jobs: {
    type: 'gauge',
    help: 'Jobs by lane and state. Delayed ones wait for their time or their next attempt.',
    labels: { lane: LANES, state: JOB_STATES },
  },
  notices_oldest_waiting_seconds: {
    type: 'gauge',
    help: 'Age of the job that has waited longest since it was due; 0 where none waits.',
    labels: { lane: LANES },
  },
  notices_held: {
    type: 'gauge',
    help: '1 for the hold in force, 0 for the others.',
    labels: { hold: HOLD_KINDS },
  },
  notices_hold_seconds: {
    type: 'gauge',
    help: 'For how long the hold in force has lasted; 0 for the others.',
    labels: { hold: HOLD_KINDS },
  },
  notices_hold_failed_probes: {
    type: 'gauge',
    help: 'Probes of the hold in force that failed in a row.',
  },
  notices_unknown_notices: {
    type: 'gauge',
    help: 'Single notices whose outcome is unknown and that a person has not decided on.',
  },
  notices_batches: {
    type: 'gauge',
    help: `Batches by phase, ${NEWEST}.`,
    labels: { phase: BATCH_PHASES },
  },
  notices_batch_contacts: {
    type: 'gauge',
    help: `Contacts by state, ${NEWEST}. The unknown ones wait for a person.`,
    labels: { state: CONTACT_STATES },
  },
  notices_batch_standstill_seconds: {
    type: 'gauge',
    help: `Longest time that a batch with pending contacts, importing or sending, has not moved, ${NEWEST}.`,
  },
  notices_batch_retention_contacts: {
    type: 'gauge',
    help: `Contacts rejected, unknown or expired that will soon be deleted, ${NEWEST}.`,
  },
  notices_unsent_contacts: {
    type: 'gauge',
    help: 'Contacts of batches that wait in Redis; imports pause at HIGH_WATER.',
  },
  notices_workers: {
    type: 'gauge',
    help: 'Worker processes that live, by their heartbeats.',
  },
  notices_worker_versions: {
    type: 'gauge',
    help: 'Different versions among the workers that live; above 1 during an update.',
  },
  notices_token_age_seconds: {
    type: 'gauge',
    help: 'Age of the shared token. Absent where none is stored, or BASE_URL and ACCESS_KEY are not set.',
  },
  notices_token_issuances: {
    type: 'gauge',
    help: 'Issuances of all workers within TOKEN_BUDGET_WINDOW_MS. Absent like the age, without a pair.',
  },
  notices_token_refused: {
    type: 'gauge',
    help: '1 while no token is asked for because the last issuance failed. Absent without a pair.',
  },
  notices_redis_memory_bytes: {
    type: 'gauge',
    help: 'Memory that Redis uses.',
  },
  notices_redis_memory_limit_bytes: {
    type: 'gauge',
    help: 'maxmemory or, where none is set, the memory of the machine. Absent where it is not told.',
  },
  notices_redis_evicts: {
    type: 'gauge',
    help: '1 where maxmemory-policy is not noeviction: Redis would delete notices.',
  },
  notices_redis_aof: {
    type: 'gauge',
    help: '1 where the append-only file is on. Without it, what came since the last snapshot is lost in a crash.',
  },
  notices_redis_persistence_ok: {
    type: 'gauge',
    help: '1 where the last writes of the append-only file and of the snapshot succeeded.',
  },
} as const satisfies MetricRows;
