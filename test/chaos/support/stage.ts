import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedisServer, type RedisServer } from '../../../scripts/redis/redis-server.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import type { Fault } from '../../../src/emulator/faults/fault.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { startFaultProxy, type FaultProxy } from '../../support/fault-proxy.ts';
import {
  numbers,
  startFleet,
  type Fleet,
  type FleetWorker,
  type LogLine,
} from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';
import { activeJobs, areDone, contactsOf } from './held-jobs.ts';
import { mostCommands } from './commands.ts';
import { gatherEvidence, isOver, whatIsOpen } from './evidence.ts';
import { judge } from './judge.ts';
import type { Verdict } from './laws.ts';
import { Load } from './load.ts';
import { PLAN, type Plan } from './plan.ts';
import { Pulse, recoveries } from './pulse.ts';
import { BATCH, CHUNK, CHUNK_SLOTS, ENV, LATENCY_MS, OUTAGE_MS } from './settings.ts';
import { startTlsFront, type TlsFront } from './tls-front.ts';
import { watchSums, type SumWatch } from './watch-sums.ts';

export const PREFIX = 'chaos';
export const KEYS = keysOf(PREFIX, 'default');
const CA_FILE = new URL('../../service/support/local.crt', import.meta.url).pathname;

/** How long the fleet runs undisturbed first: the speed of then is what a recovery leads back to. */
const UNDISTURBED_MS = 1_500;
const END_DEADLINE_MS = 150_000;

/** Numbers of bad notices: beyond those of any load. */
const BAD_FROM = 8_000_000;

/** The answer to a request with a contact of a chunk that is spoiled. */
const SPOILED = { status: 400, code: 'INVALID_CONTACT' } as const;

/** Notices that the service refuses for themselves: by their sender key, or one by its number. */
export interface BadNotices {
  readonly count: number;
  readonly senderKey?: string;
  readonly fault: Omit<Fault, 'on' | 'containing'>;
}

type Closer = () => Promise<unknown> | void;

/** A running fleet that sends a load, and everything that a scenario may lay its hands on. */
export class Stage {
  readonly server: RedisServer;
  /** A connection to Redis that meets no proxy. */
  readonly client: Redis;
  readonly ledger: Ledger;
  readonly fleet: Fleet;
  readonly load: Load;
  readonly pulse: Pulse;
  /** Between workers and Redis, workers and the service, the producer and Redis. */
  readonly proxies: {
    readonly redis: FaultProxy;
    readonly service: FaultProxy;
    readonly producer: FaultProxy;
  };
  readonly front: TlsFront;
  /** Requests that went over a connection that was kept, and died meanwhile. */
  onDead = 0;
  readonly #plan: Plan;
  readonly #closers: Closer[];
  readonly #watch: SumWatch;
  readonly #killed = new Set<number>();
  /** To stop, before the end. */
  readonly #told = new Set<number>();
  readonly #badFaults: Fault[] = [];
  #started = 0;
  #faults = 0;
  #speed = Infinity;
  #beganAt = 0;
  readonly #mendedAt: number[] = [];
  readonly #takeovers: Promise<number>[] = [];
  #frozen: { readonly contacts: ReadonlySet<string>; readonly until: number } | undefined;

  private constructor(
    parts: Pick<Stage, 'server' | 'client' | 'fleet' | 'load' | 'proxies' | 'front'>,
    plan: Plan,
    closers: Closer[],
  ) {
    this.server = parts.server;
    this.client = parts.client;
    this.fleet = parts.fleet;
    this.load = parts.load;
    this.proxies = parts.proxies;
    this.front = parts.front;
    this.ledger = new Ledger(parts.client, KEYS);
    this.pulse = new Pulse(parts.fleet.emulator);
    this.#plan = plan;
    this.#closers = closers;
    this.#watch = watchSums(this.ledger);
    closers.unshift(
      () => this.pulse.stop(),
      () => this.#watch.stop(),
    );
  }

  /** Starts Redis, the emulator, proxies and workers, and begins to hand over the load. */
  static async open(delivery: DeliveryPolicy, wishes: Partial<Plan> = {}): Promise<Stage> {
    const plan = { ...PLAN, ...wishes };
    const closers: Closer[] = [];
    try {
      const server = await startRedisServer({ persistence: true });
      closers.unshift(() => server.close());
      const redis = await startFaultProxy(server.port);
      const producer = await startFaultProxy(server.port);
      const service = await startFaultProxy(server.port);
      closers.unshift(() => Promise.all([redis, producer, service].map((proxy) => proxy.close())));
      const fleet = await startFleet({
        redisUrl: plan.producer ? `redis://127.0.0.1:${producer.port}` : server.url,
        prefix: PREFIX,
        processes: 0,
        env: { ...ENV, REDIS_URL: server.url, ...plan.env },
        emulator: { tokenMode: 'single', latencyMs: LATENCY_MS, keepDetails: 0, ...plan.emulator },
      });
      closers.unshift(() => fleet.close());
      const front = await startTlsFront(fleet.emulator.port);
      closers.unshift(() => front.close());
      service.retarget(plan.tls ? front.port : fleet.emulator.port);
      const client = new Redis(server.url, { maxRetriesPerRequest: 0, commandTimeout: 1_000 });
      client.on('error', () => {});
      closers.unshift(() => client.disconnect());

      const perSecond =
        (plan.processes * plan.supervised * CHUNK_SLOTS * CHUNK * 1_000) / LATENCY_MS;
      const contacts = plan.contacts ?? Math.ceil((perSecond * plan.seconds) / CHUNK) * CHUNK;
      const load = new Load(fleet.queue, delivery, contacts, plan.spoiledChunks);
      const proxies = { redis, service, producer };
      const stage = new Stage({ server, client, fleet, load, proxies, front }, plan, closers);
      for (const containing of load.spoiled) stage.#refuse({ containing, ...SPOILED });
      await Promise.all(Array.from({ length: plan.processes }, () => stage.start()));
      load.beginImport(plan.highWater);
      // Only that others are accepted proves that a bad notice is refused for itself.
      load.beginDrip(
        plan.noticesPerSecond,
        () => stage.isBehind(),
        async () => (await stage.isBatchOver()) && (await stage.areBadOver()),
      );
      return stage;
    } catch (error) {
      await closeAll(closers);
      throw error;
    }
  }

  close(): Promise<void> {
    return closeAll(this.#closers);
  }

  /** Starts a worker and waits until it runs. @param supervised its processes, where not those of the plan */
  async start(supervised = this.#plan.supervised): Promise<FleetWorker> {
    const first = this.#started++ === 0;
    const { redis, service, tls, firstEnv } = this.#plan;
    const stands = (behind: Plan['redis']) => behind === 'all' || (behind === 'first' && first);
    const scheme = tls ? 'https' : 'http';
    const port = stands(service)
      ? this.proxies.service.port
      : tls
        ? this.front.port
        : this.fleet.emulator.port;
    const env = {
      BASE_URL: `${scheme}://127.0.0.1:${port}`,
      ...(tls ? { TLS_CA_FILE: CA_FILE } : {}),
      ...(stands(redis) ? { REDIS_URL: `redis://127.0.0.1:${this.proxies.redis.port}` } : {}),
      ...(first ? firstEnv : {}),
      NODE_OPTIONS: [ENV.NODE_OPTIONS, first ? firstEnv['NODE_OPTIONS'] : undefined].join(' '),
    };
    return this.fleet.addWorker(env, supervised);
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
    this.#beganAt = performance.now();
    await pause(UNDISTURBED_MS);
    this.#speed = this.pulse.speed(this.#beganAt, performance.now());
  }

  /** Counts a fault that is about to be injected; fails where nothing is left for it to meet. */
  async fault(): Promise<void> {
    if (!(await this.faultUnlessOver())) throw new Error('the batch was over before the fault');
  }

  /** Counts a fault that is about to be injected; false where nothing is left for it to meet. */
  async faultUnlessOver(): Promise<boolean> {
    if (await this.isBatchOver()) return false;
    this.#faults += 1;
    return true;
  }

  /** False also while Redis is away. */
  async isBatchOver(): Promise<boolean> {
    return (await this.ledger.read(BATCH).catch(() => undefined))?.phase === 'finished';
  }

  /** From now on the service should take contacts again, as fast as before the first fault. */
  mended(): void {
    this.#mendedAt.push(performance.now());
  }

  /** The contacts of the jobs that workers hold now; all of those jobs should become done. */
  async held(): Promise<{
    readonly contacts: ReadonlySet<string>;
    readonly done: Promise<number>;
  }> {
    const jobs = await activeJobs(this.client, KEYS);
    const since = performance.now();
    const done = until(() => areDone(this.client, KEYS, jobs).catch(() => false), {
      what: `the ${jobs.length} jobs that were held`,
      deadlineMs: END_DEADLINE_MS,
      everyMs: 50,
    }).then(() => Math.round(performance.now() - since));
    // The verdict awaits it and fails with it; until then a failure must not end the process.
    done.catch(() => {});
    this.#takeovers.push(done);
    return { contacts: contactsOf(jobs, this.load), done };
  }

  /**
   * The runs that are under way now.
   *
   * @returns waits until all of them have ended; a job that met a hold waits again then, behind the whole batch
   */
  async endOfRuns(): Promise<() => Promise<unknown>> {
    const running = new Set((await activeJobs(this.client, KEYS)).map(({ id }) => id));
    return () =>
      until(
        async () => {
          const active = new Set((await activeJobs(this.client, KEYS)).map(({ id }) => id));
          for (const id of running) if (!active.has(id)) running.delete(id);
          return running.size === 0;
        },
        { what: 'the end of the runs under way', deadlineMs: 20_000 },
      );
  }

  /** How many jobs workers hold now. */
  async activeJobs(): Promise<number> {
    return (await activeJobs(this.client, KEYS)).length;
  }

  /** Chunks that a worker process has claimed and whose contacts the service has not taken. */
  async claimedUnsent(pid: number): Promise<number> {
    const claims = await this.client.hgetall(KEYS.batch(BATCH).inflight);
    const own = Object.keys(claims).filter(
      (chunk) => claims[chunk]?.startsWith(`${pid}-`) === true,
    );
    const taken = new Set([...this.fleet.emulator.contacts()].map(({ contact }) => contact));
    return own.filter((chunk) => !taken.has(this.load.listed[Number(chunk) * CHUNK] ?? '')).length;
  }

  /** A frozen worker goes on now: of what it held, nothing may be taken any more. */
  goesOn(contacts: ReadonlySet<string>): void {
    this.#frozen = { contacts, until: Date.now() };
  }

  wait(ms: number): Promise<void> {
    return pause(ms);
  }

  /** Lines that all workers have written so far. */
  lines(fits: (line: LogLine) => boolean): number {
    return this.fleet.workers.reduce((sum, { lines }) => sum + lines.filter(fits).length, 0);
  }

  /**
   * A fault of the service for so long.
   *
   * @returns how many calls it struck
   */
  async serviceFault(
    fault: Omit<Fault, 'on'> & Partial<Pick<Fault, 'on'>>,
    ms: number,
  ): Promise<number> {
    const { emulator } = this.fleet;
    await this.fault();
    emulator.addFault({ on: 'send', ...fault });
    await pause(ms);
    const struck = this.clearFaults();
    this.mended();
    return struck;
  }

  /** Hands over notices that the service refuses for themselves, from now to the end of the scenario. */
  async sendBad({ fault, count, senderKey }: BadNotices): Promise<void> {
    const contacts = numbers(count, BAD_FROM + this.load.bad.size);
    this.#refuse({ containing: senderKey ?? contacts[0] ?? '', ...fault });
    await this.load.sendBad(contacts, senderKey);
  }

  /** From now to the end of the scenario. */
  #refuse(fault: Omit<Fault, 'on'>): void {
    const refused: Fault = { on: 'send', ...fault };
    this.#badFaults.push(refused);
    this.fleet.emulator.addFault(refused);
  }

  /** Whether all bad notices have ended; false also while Redis is away. */
  areBadOver(): Promise<boolean> {
    const jobs = [...this.load.bad.keys()].map((id) => ({ queue: QUEUE_NAME, id }));
    return areDone(this.client, KEYS, jobs).catch(() => false);
  }

  /** Whether as many single notices wait as come in the longest outage; false also while Redis is away. */
  async isBehind(): Promise<boolean> {
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

  /** Waits until all has ended, stops the workers, and compares what ours say with the service. */
  async verdict(strikes: number): Promise<Verdict> {
    const { client, load, fleet } = this;
    let handedOver = false;
    load.handedOver.finally(() => (handedOver = true)).catch(() => {});
    const isLoadOver = async () => {
      if (!handedOver) return false;
      // Throws where the hand-over failed.
      await load.handedOver;
      return isOver(client, KEYS).catch(() => false);
    };
    await until(isLoadOver, {
      what: 'the end of the load',
      deadlineMs: END_DEADLINE_MS,
      everyMs: 100,
    }).catch(async (error: unknown) => {
      const open = {
        handedOver,
        badOver: await this.areBadOver(),
        ...(await whatIsOpen(client, KEYS)),
      };
      const lately = this.endsByCode(Date.now() - END_DEADLINE_MS);
      throw new Error(`${String(error)}: ${JSON.stringify({ ...open, lately })}`);
    });
    const endedAt = performance.now();
    const takeovers = await Promise.all(this.#takeovers);
    const { looks, wrongSums } = await this.#watch.stop();
    const fallen = await this.#stopWorkers();
    this.pulse.stop();
    return {
      ...judge(await gatherEvidence(client, KEYS, load, fleet)),
      delivery: load.delivery,
      looks,
      wrongSums,
      faults: this.#faults,
      strikes,
      onDead: this.onDead,
      late: this.late,
      fallen,
      recoveriesMs: [
        ...takeovers,
        ...recoveries(this.#mendedAt, (at) => this.pulse.backAfter(at, this.#speed)),
      ],
      holds: holdsSeen(fleet),
      forgotten: 0,
      mostCommands: mostCommands(fleet.workers, this.pulse.gaps(this.#beganAt, endedAt)),
      longestGapMs: this.pulse.longestGap(this.#beganAt, endedAt),
    };
  }

  /** How often attempts ended in which way, and with which code, since a time: milliseconds since the epoch. */
  endsByCode(since = 0): Readonly<Record<string, number>> {
    const ends: Record<string, number> = {};
    for (const { outcome, code, probe, time } of this.fleet.attempts()) {
      if (Date.parse(String(time)) < since) continue;
      const end = [outcome, code, probe === true ? 'probe' : undefined].filter(Boolean).join(' ');
      ends[end] = (ends[end] ?? 0) + 1;
    }
    return ends;
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

  /** Taken from a worker that was frozen, of what it held then, after it went on. */
  get late(): number {
    const frozen = this.#frozen;
    if (frozen === undefined) return 0;
    return this.fleet.emulator
      .details()
      .filter(({ contact, at }) => at >= frozen.until && frozen.contacts.has(contact)).length;
  }
}

async function closeAll(closers: readonly Closer[]): Promise<void> {
  for (const close of closers) await close();
}

/** The holds that workers have told of, of the account and of templates. */
export function holdsSeen({ workers }: Pick<Fleet, 'workers'>): ReadonlySet<string> {
  return new Set(
    workers.flatMap(({ lines }) =>
      lines.flatMap(({ event, kind, hold }) => {
        if (event === 'template-held') return [String(kind)];
        return event === 'hold' && kind === 'held' ? [String(hold)] : [];
      }),
    ),
  );
}
