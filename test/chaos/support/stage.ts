import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedisServer, type RedisServer } from '../../../scripts/redis/redis-server.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { Fault } from '../../../src/emulator/faults/fault.ts';
import { CHUNK_QUEUE_NAME, keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { startFaultProxy, type FaultProxy } from '../../support/fault-proxy.ts';
import { startFleet, type Fleet, type FleetWorker, type LogLine } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';
import { isOf } from './apart.ts';
import { endsByCode, gatherEvidence, holdsSeen, openLoad } from './evidence.ts';
import { judge, sumOf } from './judge.ts';
import type { Verdict } from './laws.ts';
import { chunkOf, Load, queueInTurns } from './load.ts';
import { mostCommands, Pulse, recoveries } from './pulse.ts';
import {
  amountOf,
  CHUNK,
  CHUNK_SLOTS,
  ENV,
  LATENCY_MS,
  OUTAGE_MS,
  PLAN,
  type Plan,
} from './settings.ts';
import { startTlsFront, type TlsFront } from './tls-front.ts';

const PREFIX = 'chaos';
export const KEYS = keysOf(PREFIX, 'default');
const CA_FILE = new URL('../../service/support/local.crt', import.meta.url).pathname;

/** How long the fleet runs undisturbed first: the speed of then is what a recovery leads back to. */
const UNDISTURBED_MS = 1_500;
const END_DEADLINE_MS = 150_000;

/** The answer to a request with a contact of a chunk that is spoiled. */
const SPOILED = { status: 400, code: 'INVALID_CONTACT' } as const;

/** Notices that the service refuses for themselves: by their sender key, or one by its number. */
export interface BadNotices {
  readonly count: number;
  readonly senderKey?: string;
  readonly fault: Omit<Fault, 'on' | 'containing'>;
}

/** A job that a worker has fetched and not ended. */
interface HeldJob {
  readonly queue: string;
  readonly id: string;
}

/** A running fleet that sends a load of each policy, and everything that a scenario may lay its hands on. */
export class Stage {
  readonly server: RedisServer;
  /** A connection to Redis that meets no proxy. */
  readonly client: Redis;
  readonly fleet: Fleet;
  readonly loads: readonly Load[];
  readonly pulse: Pulse;
  /** Between workers and Redis, workers and the service, the producer and Redis. */
  readonly proxies: Readonly<Record<'redis' | 'service' | 'producer', FaultProxy>>;
  readonly front: TlsFront;
  /** Requests that went over a connection that was kept, and died meanwhile. */
  onDead = 0;
  readonly #ledger: Ledger;
  readonly #plan: Plan;
  readonly #closers: (() => unknown)[];
  /** Workers that were killed, and those that were told to stop before the end. */
  readonly #killed = new Set<number>();
  readonly #told = new Set<number>();
  readonly #badFaults: Fault[] = [];
  #started = 0;
  #faults = 0;
  #speed = Infinity;
  #startedAt = 0;
  readonly #mendedAt: number[] = [];
  readonly #takeovers: Promise<number>[] = [];
  #frozen: { readonly contacts: ReadonlySet<string>; readonly until: number } | undefined;

  private constructor(
    parts: Pick<Stage, 'server' | 'client' | 'fleet' | 'loads' | 'proxies' | 'front'>,
    plan: Plan,
    closers: (() => unknown)[],
  ) {
    this.server = parts.server;
    this.client = parts.client;
    this.fleet = parts.fleet;
    this.loads = parts.loads;
    this.proxies = parts.proxies;
    this.front = parts.front;
    this.#ledger = new Ledger(parts.client, KEYS);
    this.pulse = new Pulse(parts.fleet.emulator);
    this.#plan = plan;
    this.#closers = closers;
    const stopWatch = this.#watchSums();
    closers.unshift(() => this.pulse.stop(), stopWatch);
  }

  /** Starts Redis, the emulator, proxies and workers, and begins to hand over the loads. */
  static async open(wishes: Partial<Plan> = {}): Promise<Stage> {
    const plan = { ...PLAN, ...wishes };
    const { sentinels } = plan;
    const closers: (() => unknown)[] = [];
    try {
      const server = sentinels?.master ?? (await startRedisServer({ persistence: true }));
      closers.unshift(() => (sentinels ?? server).close());
      const redis = await startFaultProxy(server.port);
      const producer = await startFaultProxy(server.port);
      const service = await startFaultProxy(server.port);
      const proxies = { redis, service, producer };
      closers.unshift(() => Promise.all(Object.values(proxies).map((proxy) => proxy.close())));
      const url = sentinels?.masterUrl ?? server.url;
      const fleet = await startFleet({
        redisUrl: plan.producer ? `redis://127.0.0.1:${producer.port}` : url,
        prefix: PREFIX,
        processes: 0,
        env: { ...ENV, REDIS_URL: url, ...sentinels?.env, ...plan.env },
        emulator: { tokenMode: 'single', latencyMs: LATENCY_MS, keepDetails: 0, ...plan.emulator },
      });
      closers.unshift(() => fleet.close());
      const front = await startTlsFront(fleet.emulator.port);
      closers.unshift(() => front.close());
      service.retarget(plan.tls ? front.port : fleet.emulator.port);
      const client =
        sentinels?.client ?? new Redis(url, { maxRetriesPerRequest: 0, commandTimeout: 1_000 });
      client.on('error', () => {});
      closers.unshift(() => client.disconnect());

      const perSecond = (plan.processes * CHUNK_SLOTS * CHUNK * 1_000) / LATENCY_MS;
      const contacts = plan.contacts ?? Math.ceil((perSecond * plan.seconds) / CHUNK) * CHUNK;
      const amount = (ofOne: number) => amountOf(plan, ofOne);
      const size = CHUNK * amount(contacts / CHUNK);
      const loads = plan.policies.map(
        (delivery) => new Load(fleet.queue, delivery, size, amount(plan.spoiledChunks)),
      );
      const stage = new Stage({ server, client, fleet, loads, proxies, front }, plan, closers);
      for (const containing of loads.flatMap(({ spoiled }) => spoiled)) {
        stage.#refuse({ containing, ...SPOILED });
      }
      for (const load of loads) load.beginImport(plan.highWater);
      if (plan.highWater >= size * loads.length) {
        await stage.#handedOver();
        await queueInTurns(client, KEYS.chunkJob('wait'));
      }
      await Promise.all(Array.from({ length: plan.processes }, () => stage.start()));
      for (const load of loads) {
        if (plan.noticesAtFirst > 0) await load.send(amount(plan.noticesAtFirst));
        // Only that others are accepted proves that a bad notice is refused for itself.
        if (plan.noticesPerSecond > 0) {
          load.beginDrip(
            amount(plan.noticesPerSecond),
            () => stage.#isBehind(),
            async () => (await stage.#areOver()).every(Boolean) && (await stage.areBadOver()),
          );
        }
      }
      return stage;
    } catch (error) {
      await closeAll(closers);
      throw error;
    }
  }

  close(): Promise<void> {
    return closeAll(this.#closers);
  }

  /** How much of something each load has, of which there is so much where one policy is alone. */
  amount(ofOne: number): number {
    return amountOf(this.#plan, ofOne);
  }

  /** Looks at the states of the batches some fifty times a second; a Redis that is away says nothing. */
  #watchSums(): () => Promise<void> {
    const stopped = new AbortController();
    const watching = (async () => {
      while (!stopped.signal.aborted) {
        for (const { seen, batch } of await this.#batches()) {
          if (batch === undefined) continue;
          seen.looks += 1;
          if (sumOf(batch.counts) !== batch.counts.total) seen.wrongSums += 1;
        }
        await pause(15);
      }
    })();
    return () => {
      stopped.abort();
      return watching;
    };
  }

  /** Starts a worker and waits until it runs. */
  async start(): Promise<FleetWorker> {
    const first = this.#started++ === 0;
    const { redis, service, tls, firstEnv } = this.#plan;
    const stands = (behind: Plan['redis']) => behind === 'all' || (behind === 'first' && first);
    const direct = tls ? this.front.port : this.fleet.emulator.port;
    const port = stands(service) ? this.proxies.service.port : direct;
    const env = {
      BASE_URL: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
      ...(tls ? { TLS_CA_FILE: CA_FILE } : {}),
      ...(stands(redis) ? { REDIS_URL: `redis://127.0.0.1:${this.proxies.redis.port}` } : {}),
      ...(first ? firstEnv : {}),
      NODE_OPTIONS: [ENV.NODE_OPTIONS, first ? firstEnv['NODE_OPTIONS'] : undefined].join(' '),
    };
    return this.fleet.addWorker(env);
  }

  /** Starts a worker in the place of one that was killed; it may be killed before it has started. */
  replace(): void {
    this.start().catch(() => {});
  }

  /** Workers that were not told to end. */
  live(): FleetWorker[] {
    return this.fleet.workers.filter(({ gone }) => !gone);
  }

  /** Ends a worker on purpose. */
  fell(worker: FleetWorker, signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT'): void {
    (signal === 'SIGKILL' ? this.#killed : this.#told).add(worker.pid);
    worker.kill(signal);
  }

  /** Waits until the fleet has run undisturbed, and measures its speed. */
  async steady(): Promise<void> {
    const { emulator } = this.fleet;
    await until(() => emulator.record().contacts > this.#plan.processes * CHUNK_SLOTS * CHUNK, {
      what: 'the first sends',
      deadlineMs: 30_000,
    });
    this.#startedAt = performance.now();
    await pause(UNDISTURBED_MS);
    this.#speed = this.pulse.speed(this.#startedAt, performance.now());
  }

  /** Counts a fault that is about to be injected; fails where nothing is left for it to meet. */
  async fault(): Promise<void> {
    if (!(await this.faultUnlessOver())) throw new Error('a batch was over before the fault');
  }

  /** Counts a fault that is about to be injected; false where nothing is left of a load for it to meet. */
  async faultUnlessOver(): Promise<boolean> {
    if ((await this.#areOver()).some(Boolean)) return false;
    this.#faults += 1;
    const jobs = await this.activeJobs().catch((): HeldJob[] => []);
    for (const load of this.loads) {
      load.seen.underWay += jobs.filter(({ id }) => isOf(load, id)).length;
    }
    return true;
  }

  /** What is seen of each load, and its batch; undefined while Redis is away. */
  #batches() {
    return Promise.all(
      this.loads.map(async ({ delivery, seen }) => ({
        seen,
        batch: await this.#ledger.read(delivery).catch(() => undefined),
      })),
    );
  }

  /** Which batches are over; none while Redis is away. */
  async #areOver(): Promise<boolean[]> {
    return (await this.#batches()).map(({ batch }) => batch?.phase === 'finished');
  }

  #handedOver(): Promise<unknown> {
    return Promise.all(this.loads.map(({ handedOver }) => handedOver));
  }

  /** From now on the service should take contacts again, as fast as before the first fault. */
  mended(): void {
    this.#mendedAt.push(performance.now());
  }

  /** The jobs that workers hold now, in both lanes. */
  async activeJobs(): Promise<HeldJob[]> {
    const jobs: HeldJob[] = [];
    for (const queue of [QUEUE_NAME, CHUNK_QUEUE_NAME]) {
      const ids = await this.client.lrange(`${KEYS.bullPrefix}:${queue}:active`, 0, -1);
      jobs.push(...ids.map((id) => ({ queue, id })));
    }
    return jobs;
  }

  /** Whether all of them have ended: a chunk's job is gone then, a notice's is kept. False while Redis is away. */
  async #areDone(jobs: readonly HeldJob[]): Promise<boolean> {
    const pipeline = this.client.pipeline();
    for (const { queue, id } of jobs) {
      const beginning = `${KEYS.bullPrefix}:${queue}:`;
      pipeline.zscore(`${beginning}completed`, id);
      pipeline.zscore(`${beginning}failed`, id);
      pipeline.exists(`${beginning}${id}`);
    }
    const replies = (await pipeline.exec().catch(() => undefined)) ?? [];
    return jobs.every((_, index) => {
      const [done, failed, exists] = [0, 1, 2].map((at) => replies[index * 3 + at]?.[1]);
      return exists === 0 || typeof done === 'string' || typeof failed === 'string';
    });
  }

  /** The contacts of the jobs that workers hold now; all of those jobs should become done. */
  async held(): Promise<{
    readonly contacts: ReadonlySet<string>;
    readonly done: Promise<number>;
  }> {
    const jobs = await this.activeJobs();
    const since = performance.now();
    const done = until(() => this.#areDone(jobs), {
      what: `the ${jobs.length} jobs that were held`,
      deadlineMs: END_DEADLINE_MS,
      everyMs: 50,
    }).then(() => Math.round(performance.now() - since));
    // The verdict awaits it and fails with it; until then a failure must not end the process.
    done.catch(() => {});
    this.#takeovers.push(done);
    const contacts = jobs.flatMap(({ queue, id }) => {
      if (queue === QUEUE_NAME) return this.loads.map(({ notices }) => notices.get(id) ?? '');
      const chunk = chunkOf(id);
      const load = this.loads.find((one) => isOf(one, id));
      return load?.listed.slice(chunk * CHUNK, (chunk + 1) * CHUNK) ?? [];
    });
    return { contacts: new Set(contacts), done };
  }

  /**
   * The runs that are under way now.
   *
   * @returns waits until all of them have ended; a job that met a hold waits again then, behind the whole batch
   */
  async endOfRuns(): Promise<() => Promise<unknown>> {
    const ids = async () => new Set((await this.activeJobs()).map(({ id }) => id));
    const running = await ids();
    const areOver = async () => {
      const active = await ids();
      for (const id of running) if (!active.has(id)) running.delete(id);
      return running.size === 0;
    };
    return () => until(areOver, { what: 'the end of the runs under way', deadlineMs: 20_000 });
  }

  /** Chunks of each load, at the least, that a worker process has claimed and whose contacts the service has not taken. */
  async claimedUnsent(pid: number): Promise<number> {
    const taken = new Set([...this.fleet.emulator.contacts()].map(({ contact }) => contact));
    const unsent = this.loads.map(async ({ delivery, listed }) => {
      const claims = await this.client.hgetall(KEYS.batch(delivery).inflight);
      const own = Object.keys(claims).filter((chunk) => claims[chunk]?.startsWith(`${pid}-`));
      return own.filter((chunk) => !taken.has(listed[Number(chunk) * CHUNK] ?? '')).length;
    });
    return Math.min(...(await Promise.all(unsent)));
  }

  /** A frozen worker goes on now: of what it held, nothing may be taken any more. */
  goesOn(contacts: ReadonlySet<string>): void {
    this.#frozen = { contacts, until: Date.now() };
  }

  /** Taken from a worker that was frozen, of what it held then, after it went on. */
  get late(): number {
    const frozen = this.#frozen;
    if (frozen === undefined) return 0;
    return this.fleet.emulator
      .details()
      .filter(({ contact, at }) => at >= frozen.until && frozen.contacts.has(contact)).length;
  }

  /** Lines that all workers have written so far. */
  lines(fits: (line: LogLine) => boolean): number {
    return this.fleet.workers.reduce((sum, { lines }) => sum + lines.filter(fits).length, 0);
  }

  /** Hands over notices of each policy that the service refuses for themselves, from now to the end of the scenario. */
  async sendBad({ fault, count, senderKey }: BadNotices): Promise<void> {
    const contacts = this.loads.map((load) => load.take(this.amount(count)));
    const marks = new Set(contacts.map(([first = '']) => senderKey ?? first));
    for (const containing of marks) this.#refuse({ containing, ...fault });
    await Promise.all(this.loads.map((load, at) => load.sendBad(contacts[at] ?? [], senderKey)));
  }

  /** From now to the end of the scenario. */
  #refuse(fault: Omit<Fault, 'on'>): void {
    const refused: Fault = { on: 'send', ...fault };
    this.#badFaults.push(refused);
    this.fleet.emulator.addFault(refused);
  }

  /** Whether all bad notices have ended; false also while Redis is away. */
  areBadOver(): Promise<boolean> {
    const ids = this.loads.flatMap(({ bad }) => [...bad.keys()]);
    return this.#areDone(ids.map((id) => ({ queue: QUEUE_NAME, id })));
  }

  /** Whether as many single notices wait as come in the longest outage; false also while Redis is away. */
  async #isBehind(): Promise<boolean> {
    const waiting = await this.client.llen(KEYS.noticesIn('wait')).catch(() => 0);
    return waiting > (this.#plan.noticesPerSecond * OUTAGE_MS) / 1_000;
  }

  /** Ends the faults of the service, but not those of bad notices and contacts; answers how often all of them struck. */
  clearFaults(): number {
    const { emulator } = this.fleet;
    const struck = emulator.faults().reduce((sum, { fired }) => sum + fired, 0);
    emulator.clearFaults();
    for (const fault of this.#badFaults) emulator.addFault(fault);
    return struck;
  }

  /**
   * Waits until all has ended, stops the workers, and compares what ours say with the service, for each load.
   *
   * @param forgotten of each load
   * @param onLook done at each look at what is open
   */
  async verdict(
    strikes: number,
    forgotten: readonly number[] = [],
    onLook: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<Verdict[]> {
    const { client, loads, fleet, pulse } = this;
    let handedOver = false;
    this.#handedOver()
      .finally(() => (handedOver = true))
      .catch(() => {});
    const isLoadOver = async () => {
      await onLook().catch(() => {});
      if (!handedOver) return false;
      // Throws where the hand-over failed.
      await this.#handedOver();
      return (await openLoad(client, KEYS, loads).catch(() => undefined))?.isOver === true;
    };
    await until(isLoadOver, {
      what: 'the end of the load',
      deadlineMs: END_DEADLINE_MS,
      everyMs: 100,
    }).catch(async (error: unknown) => {
      const badOver = await this.areBadOver();
      const open = { handedOver, badOver, ...(await openLoad(client, KEYS, loads)) };
      const lately = endsByCode(fleet, Date.now() - END_DEADLINE_MS);
      throw new Error(`${String(error)}: ${JSON.stringify({ ...open, lately })}`);
    });
    const endedAt = performance.now();
    const takeovers = await Promise.all(this.#takeovers);
    const fallen = await this.#stopWorkers();
    pulse.stop();
    const fates = (await gatherEvidence(client, KEYS, loads, fleet)).map(judge);
    const gaps = pulse.gaps(this.#startedAt, endedAt);
    const ofAll = {
      // What was in flight is of both.
      inDoubt: fates.reduce((sum, fate) => sum + fate.inDoubt, 0),
      strikes,
      fallen,
      faults: this.#faults,
      onDead: this.onDead,
      late: this.late,
      recoveriesMs: [
        ...takeovers,
        ...recoveries(this.#mendedAt, (at) => pulse.backAfter(at, this.#speed)),
      ],
      holds: holdsSeen(fleet),
      mostCommands: mostCommands(fleet.workers, gaps),
      longestGapMs: Math.round(Math.max(0, ...gaps.map(({ from, to }) => to - from))),
    };
    return fates.map((fate, at) => ({ ...fate, ...ofAll, forgotten: forgotten[at] ?? 0 }));
  }

  /** Tells all workers to stop; counts those that ended by themselves, or not in order. */
  async #stopWorkers(): Promise<number> {
    const own = this.fleet.workers.filter(({ pid }) => !this.#killed.has(pid));
    const rest = own.filter(({ pid }) => !this.#told.has(pid));
    const before = rest.filter(({ gone }) => gone).length;
    for (const worker of rest) worker.kill('SIGTERM');
    // One that was told while it started is ended by the signal itself.
    const codes = await Promise.all(
      own.map(async ({ pid, ended }) => {
        const code = await ended;
        return this.#told.has(pid) && typeof code === 'string' ? 0 : code;
      }),
    );
    return Math.max(before, codes.filter((code) => code !== 0).length);
  }
}

async function closeAll(closers: readonly (() => unknown)[]): Promise<void> {
  for (const close of closers) await close();
}
