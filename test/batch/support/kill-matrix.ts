import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, expect } from 'vitest';
import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import { startRedisServer, type RedisServer } from '../../../scripts/redis/redis-server.ts';
import type { Batch } from '../../../src/batch/ledger/batch-record.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { rowResults } from '../../../src/batch/failures/row-results.ts';
import { decodeContacts, rowsOfPayload } from '../../../src/payload/chunk-payload.ts';
import { NO_SEALING } from '../../../src/payload/seal.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { randomFrom } from '../../chaos/support/random.ts';
import { DoNotSendList } from '../../../src/suppression/do-not-send.ts';
import { numbers, startFleet, type Fleet } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';

const WORKERS = 3;
const BATCH = 'kill-matrix';
const START_AFTER_MS = 3_000;
/** Time for a fleet to start in, before the list that its sending hours interrupt. */
const FLEET_START_MS = 15_000;
const MINUTE_MS = 60_000;
/** The list starts so long before its sending hours end. */
const LAST_OF_HOURS_MS = 8_000;
/** Of a request that was under way when the hours ended. */
const UNDER_WAY_MS = 3_000;

const CLI = new URL('../../../dist/src/cli/main.js', import.meta.url).pathname;

/** Locks short enough that what a killed worker held comes back within seconds. */
const ENV = {
  CONCURRENCY: '4',
  BATCH_CONCURRENCY: '8',
  LOCK_DURATION_MS: '6000',
  HEARTBEAT_MS: '1000',
  SEND_DEADLINE_MS: '2500',
  ANSWER_TIMEOUT_MS: '1500',
  CONNECT_TIMEOUT_MS: '500',
  ISSUE_DEADLINE_MS: '1500',
  TOKEN_LOCK_TTL_MS: '3000',
  HOLD_PROBE_MIN_MS: '200',
  BACKOFF_BASE_MS: '50',
  BACKOFF_CAP_MS: '500',
  ATTEMPTS: '1000',
  HIGH_WATER: '20000',
};

/** How large the batch is, and how often something is killed. */
export interface KillMatrix {
  readonly contacts: number;
  /** Contacts of a send. */
  readonly chunk: number;
  readonly kills: number;
  readonly redisRestarts: number;
  /** Sending hours end while the list is sent, and begin again a minute later; a part of the kills falls in between. */
  readonly isInterrupted?: true;
}

/** When a list starts, and the minute in which its sending hours are closed; milliseconds since the epoch. */
interface Times {
  readonly startAt?: number;
  readonly closed?: readonly [from: number, to: number];
}

function timesOf({ isInterrupted }: KillMatrix): Times {
  if (isInterrupted === undefined) return {};
  const earliest = Date.now() + FLEET_START_MS + START_AFTER_MS + LAST_OF_HOURS_MS;
  const closesAt = Math.ceil(earliest / MINUTE_MS) * MINUTE_MS;
  return { startAt: closesAt - LAST_OF_HOURS_MS, closed: [closesAt, closesAt + MINUTE_MS] };
}

/** SEND_WINDOWS: closed in that minute only. */
function windowsOf({ closed }: Times): Record<string, string> {
  if (closed === undefined) return {};
  const [from, to] = closed.map((at) => new Date(at).toISOString().slice(11, 16));
  return { SEND_WINDOWS: `KILL=${to}-${from} UTC` };
}

/**
 * Plays a batch while its importer, its workers and its Redis are killed. The record of the emulator
 * says what was sent, and the ledger has to agree with it.
 *
 * The moments are random; NOTICES_SEED repeats a run.
 */
export function killMatrix() {
  let server: RedisServer | undefined;
  let fleet: Fleet | undefined;
  let folder = '';
  const children = new Set<ChildProcess>();

  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    await fleet?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
    fleet = undefined;
    server = undefined;
  });

  /**
   * `notices import`, run again with the same command whenever it did not end by itself. Only where it was killed before the
   * batch was there, and its time to start has passed, the batch starts later.
   */
  function importer(
    file: string,
    chunk: number,
    env: Readonly<Record<string, string>>,
    delivery: string,
    firstStartAt: number,
    isThere: () => Promise<boolean>,
  ) {
    let child: ChildProcess | undefined;
    let done = false;
    const start = (startAt: number) => {
      const time = new Date(startAt).toISOString();
      const args = ['import', file, '--template', 'KILL', '--batch', BATCH, '--start-at', time];
      child = spawn(
        process.execPath,
        [CLI, ...args, '--chunk', String(chunk), '--delivery', delivery, '--json'],
        { env, stdio: 'ignore' },
      );
      children.add(child);
      const current = child;
      void once(current, 'exit').then(async ([code]) => {
        children.delete(current);
        if (code === 0) done = true;
        else start((await isThere()) ? startAt : Math.max(startAt, Date.now() + START_AFTER_MS));
      });
    };
    start(firstStartAt);
    return {
      kill: () => child?.kill('SIGKILL'),
      isDone: () => done,
    };
  }

  const sumOf = ({ counts }: Batch) =>
    counts.pending +
    counts.accepted +
    counts.rejected +
    counts.unknown +
    counts.expired +
    counts.cancelled +
    counts.suppressed;

  /** Answers who was lost, and the looks at which the states did not add up to the total. */
  async function play(
    delivery: DeliveryPolicy,
    size: KillMatrix,
  ): Promise<{ lost: string[]; wrongSums: string[] }> {
    const { contacts, chunk, kills, redisRestarts } = size;
    const seed = Number(process.env['NOTICES_SEED'] ?? Date.now() % 1_000_000);
    const random = randomFrom(seed);
    folder = mkdtempSync(path.join(tmpdir(), 'notices-kill-'));
    const file = path.join(folder, 'contacts.csv');
    // With a row that is refused and one that is there twice.
    const [first = ''] = numbers(1);
    writeFileSync(file, `contact,var1\n${numbers(contacts).join(',a\n')},a\nx,a\n${first},a\n`);

    const redisServer = await startRedisServer({ persistence: true });
    server = redisServer;
    const times = timesOf(size);
    const on = await startFleet({
      redisUrl: redisServer.url,
      prefix: 'kill',
      processes: WORKERS,
      env: { ...ENV, ...windowsOf(times) },
      // Slow enough that the batch is still under way at the last kill.
      emulator: { latencyMs: 400, keepDetails: 2 * contacts },
    });
    fleet = on;
    const redis = new Redis(redisServer.url, { maxRetriesPerRequest: 0, commandTimeout: 500 });
    redis.on('error', () => {});
    const keys = keysOf('kill', 'default');
    const ledger = new Ledger(redis, keys);
    // They end suppressed, or unknown where a worker died with their chunk before it had taken them out.
    const doNotSend = numbers(contacts).filter((_, index) => index % 100 === 50);
    await new DoNotSendList(redis, keys, NO_SEALING).add(doNotSend, 'opt-out');

    // Fifty times a second the states must add up to the total; a Redis that is away says nothing.
    let polls = 0;
    const wrong: string[] = [];
    const watching = new AbortController();
    const watch = (async () => {
      while (!watching.signal.aborted) {
        const batch = await ledger.read(BATCH).catch(() => undefined);
        if (batch !== undefined) {
          polls++;
          if (sumOf(batch) !== batch.counts.total) wrong.push(JSON.stringify(batch.counts));
        }
        await pause(12);
      }
    })();

    // It has passed when the command runs again.
    const { closed, startAt = Date.now() + START_AFTER_MS } = times;
    const isThere = () =>
      ledger.read(BATCH).then(
        (batch) => batch !== undefined,
        // Redis is away: it is asked again when the next run has failed.
        () => true,
      );
    const importing = importer(file, chunk, on.env, delivery, startAt, isThere);
    const live = () => on.workers.filter((worker) => !killed.has(worker.pid));
    const killed = new Set<number>();
    let hits = 0;
    // A quarter of the kills each: while it is imported, sent, closed, and sent again.
    const momentOf = (share: number) =>
      [0, startAt, closed?.[0] ?? 0, closed?.[1] ?? 0][Math.ceil(share * 4) - 1] ?? 0;
    for (let round = 1; round <= kills; round++) {
      await pause(200 + random() * 800);
      if (closed !== undefined) await pause(Math.max(0, momentOf(round / kills) - Date.now()));
      const phase = (await ledger.read(BATCH).catch(() => undefined))?.phase;
      if (phase !== 'finished') hits++;
      const choice = random();
      if (choice < 0.35 && !importing.isDone()) {
        importing.kill();
      } else {
        const workers = live();
        const victim = workers[Math.floor(random() * workers.length)];
        if (victim !== undefined) {
          killed.add(victim.pid);
          victim.kill('SIGKILL');
          // It may be killed before it has started; the next one takes its place.
          on.addWorker().catch(() => {});
        }
      }
      if (round % Math.floor(kills / redisRestarts) === 0) {
        await redisServer.kill('SIGKILL');
        await redisServer.restart();
      }
    }

    const batch = await until(
      async () => {
        const found = await ledger.read(BATCH).catch(() => undefined);
        return found?.phase === 'finished' ? found : undefined;
      },
      { what: `the end of the batch (seed ${seed})`, deadlineMs: 240_000, everyMs: 200 },
    );
    watching.abort();
    await watch;

    const record = on.emulator.record();
    const { counts } = batch;
    console.log(
      `${delivery}, seed ${seed}: ${JSON.stringify(counts)}, sent twice ${record.twice}, ` +
        `tokens ${record.tokens.issued}, polls ${polls}`,
    );
    // A kill that meets a batch that is over proves nothing.
    expect(hits).toBe(kills);
    expect(polls).toBeGreaterThan(100);
    expect(counts.total).toBe(contacts);
    expect(sumOf(batch)).toBe(contacts);
    if (closed !== undefined) {
      const [from, to] = closed;
      const sent = { before: 0, closed: 0, after: 0 };
      for (const { at } of on.emulator.details()) {
        sent[at < from + UNDER_WAY_MS ? 'before' : at < to ? 'closed' : 'after'] += 1;
      }
      expect(sent.closed).toBe(0);
      expect(Math.min(sent.before, sent.after)).toBeGreaterThan(0);
    }

    const taken = new Set([...on.emulator.contacts()].map(({ contact }) => contact));
    const unknown = new Set<string>();
    for await (const failure of ledger.failures(BATCH)) {
      expect(failure.state).toBe('unknown');
      const payload = await ledger.payload(BATCH, failure.name);
      if (payload === undefined) throw new Error(`failure ${failure.name} has no contacts`);
      for (const { contact } of await decodeContacts(payload)) {
        unknown.add(contact);
      }
    }
    expect(unknown.size).toBe(counts.unknown);
    const { results, rows, found } = await rowResults(ledger, batch, (bytes) =>
      rowsOfPayload(bytes),
    );
    expect([rows, found]).toEqual([contacts + 2, contacts + 2]);
    const states = new Map<string, number>();
    for (const { from, to, state } of results) {
      states.set(state, (states.get(state) ?? 0) + to - from + 1);
    }
    for (const state of ['accepted', 'unknown'] as const) {
      expect([state, states.get(state) ?? 0]).toEqual([state, counts[state]]);
    }
    expect([states.get('refused'), states.get('duplicate')]).toEqual([1, 1]);
    // Neither taken by the service nor listed as unknown.
    const known = new Set([...taken, ...unknown, ...doNotSend]);
    const lost = numbers(contacts).filter((number) => !known.has(number));
    expect(doNotSend.filter((number) => taken.has(number))).toEqual([]);
    expect(counts.suppressed).toBeGreaterThan(0);
    expect(counts.suppressed).toBeLessThanOrEqual(doNotSend.length);
    expect(counts.rejected + counts.expired + counts.cancelled).toBe(0);
    // Twice got a contact only what the ledger has counted as handed out twice, or nothing at all.
    expect(record.twice).toBeLessThanOrEqual(counts.possiblySentTwice);
    expect(delivery === 'at-most-once' ? counts.possiblySentTwice : counts.unknown).toBe(0);
    expect(counts.accepted).toBeLessThanOrEqual(record.distinct ?? -1);
    redis.disconnect();
    return { lost, wrongSums: wrong };
  }

  return { play };
}
