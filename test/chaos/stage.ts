import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedisServer, type RedisServer } from '../../scripts/redis/redis-server.ts';
import type { Batch } from '../../src/batch/batch-record.ts';
import { Ledger } from '../../src/batch/ledger.ts';
import { decodeContacts } from '../../src/batch/payload.ts';
import type { DeliveryPolicy } from '../../src/contracts/delivery.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
import { until } from '../support/wait.ts';

/** Short enough that what a dead worker held comes back within seconds. */
export const LOCK_MS = 6_000;
export const STALLED_MS = 1_000;
export const PROBE_MAX_MS = 1_000;

const ENV = {
  CONCURRENCY: '4',
  BATCH_CONCURRENCY: '8',
  LOCK_DURATION_MS: String(LOCK_MS),
  STALLED_INTERVAL_MS: String(STALLED_MS),
  SEND_DEADLINE_MS: '2500',
  ANSWER_TIMEOUT_MS: '1000',
  CONNECT_TIMEOUT_MS: '500',
  ISSUE_DEADLINE_MS: '1500',
  TOKEN_LOCK_TTL_MS: '3000',
  TOKEN_GRACE_MS: '100',
  TOKEN_MIN_AGE_MS: '1000',
  TOKEN_REFUSED_MIN_MS: '200',
  TOKEN_REFUSED_MAX_MS: '1000',
  HOLD_PROBE_MIN_MS: '200',
  HOLD_PROBE_MAX_MS: String(PROBE_MAX_MS),
  BACKOFF_BASE_MS: '50',
  BACKOFF_CAP_MS: '300',
  ATTEMPTS: '1000',
};

const WORKERS = 3;
const CONTACTS = 4_000;
const CHUNK = 4;
/** With 24 sends at a time, the list takes some three seconds where nothing disturbs it. */
const LATENCY_MS = 60;
const PREFIX = 'chaos';
const BATCH = 'chaos';

/** What a scenario may lay its hands on. */
export interface Stage {
  readonly fleet: Fleet;
  readonly server: RedisServer;
  readonly redis: Redis;
  /** Waits until so many contacts of the list have been accepted. */
  accepted(count: number): Promise<void>;
}

/** What is left when the dust has settled. */
export interface Aftermath {
  readonly batch: Batch;
  /** Neither taken by the service nor listed as unknown. */
  readonly lost: number;
  /** Numbers the service took more than once. */
  readonly twice: number;
  readonly issued: number;
  /** From the end of the disturbance to the next accepted send. */
  readonly recoveryMs: number;
  /** Looks at the ledger at which its states did not add up. */
  readonly wrongSums: number;
  readonly looks: number;
}

const sumOf = ({ counts }: Batch) =>
  counts.pending +
  counts.accepted +
  counts.rejected +
  counts.unknown +
  counts.expired +
  counts.cancelled;

/**
 * Sends a list with three worker processes while something breaks, and waits until all is settled.
 *
 * @param disturb breaks something while sends are under way; when it returns the fault is over
 */
export async function play(
  delivery: DeliveryPolicy,
  disturb: (stage: Stage) => Promise<void>,
): Promise<Aftermath> {
  const server = await startRedisServer({ persistence: true });
  let fleet: Fleet | undefined;
  const redis = new Redis(server.url, { maxRetriesPerRequest: 0, commandTimeout: 1_000 });
  redis.on('error', () => {});
  const watching = new AbortController();
  try {
    const on = await startFleet({
      redisUrl: server.url,
      prefix: PREFIX,
      processes: WORKERS,
      env: ENV,
      emulator: { tokenMode: 'single', latencyMs: LATENCY_MS },
    });
    fleet = on;
    const ledger = new Ledger(redis, keysOf(PREFIX, 'default'));
    const sums = watch(ledger, watching.signal);
    await on.queue.import(
      (function* list() {
        for (const contact of numbers(CONTACTS)) yield { contact };
      })(),
      { templateCode: 'CHAOS', batchId: BATCH, chunkSize: CHUNK, delivery },
    );
    const count = () => on.emulator.record().contacts;
    const stage: Stage = {
      fleet: on,
      server,
      redis,
      accepted: async (wanted) => {
        await until(() => count() >= wanted, { what: `${wanted} accepted`, everyMs: 5 });
      },
    };
    await stage.accepted(CONTACTS / 10);
    await disturb(stage);

    const overAt = performance.now();
    const before = count();
    // Where all is settled no send follows: under at-most-once what is left may be unknown.
    const isOver = async () =>
      (await ledger.read(BATCH).catch(() => undefined))?.phase === 'finished';
    await until(async () => count() > before || (await isOver()), {
      what: 'a send after the fault',
      deadlineMs: 60_000,
      everyMs: 5,
    });
    const recoveryMs = Math.round(performance.now() - overAt);
    const batch = await until(
      async () => {
        const found = await ledger.read(BATCH).catch(() => undefined);
        return found?.phase === 'finished' ? found : undefined;
      },
      { what: 'the end of the batch', deadlineMs: 90_000, everyMs: 100 },
    );
    watching.abort();
    const { looks, wrongSums } = await sums;
    const unknown = await unknownNumbers(ledger);
    const taken = new Set([...on.emulator.contacts()].map(({ contact }) => contact));
    const lost = numbers(CONTACTS).filter((number) => !taken.has(number) && !unknown.has(number));
    const record = on.emulator.record();
    return {
      batch,
      lost: lost.length,
      twice: record.twice ?? -1,
      issued: record.tokens.issued,
      recoveryMs,
      wrongSums,
      looks,
    };
  } finally {
    watching.abort();
    await fleet?.close();
    redis.disconnect();
    await server.close();
  }
}

async function watch(
  ledger: Ledger,
  stop: AbortSignal,
): Promise<{ looks: number; wrongSums: number }> {
  let looks = 0;
  let wrongSums = 0;
  while (!stop.aborted) {
    const batch = await ledger.read(BATCH).catch(() => undefined);
    if (batch !== undefined) {
      looks++;
      if (sumOf(batch) !== batch.counts.total) wrongSums++;
    }
    await pause(15);
  }
  return { looks, wrongSums };
}

async function unknownNumbers(ledger: Ledger): Promise<Set<string>> {
  const unknown = new Set<string>();
  for await (const failure of ledger.failures(BATCH)) {
    if (failure.state !== 'unknown') continue;
    const payload = await ledger.payload(BATCH, failure.name);
    if (payload === undefined) throw new Error(`failure ${failure.name} has no contacts`);
    for (const { contact } of await decodeContacts(payload, [])) unknown.add(contact);
  }
  return unknown;
}
