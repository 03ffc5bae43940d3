import { decideOutcome } from '../../../../src/service/outcome-table.ts';
import type { DeliveryPolicy } from '../../../../src/contracts/delivery.ts';
import { HoldGate } from '../../../../src/fleet/hold/hold-gate.ts';
import { ASIDE_STEP_MS } from '../../../../src/fleet/hold/hold-scripts.ts';
import { OLDEST_EVERY } from '../../../../src/fleet/hold/next-probe.ts';
import type { Passage } from '../../../../src/fleet/hold/passage.ts';
import type { Outcome } from '../../../../src/contracts/outcome.ts';
import { keysOf, type Keys } from '../../../../src/redis/keys.ts';
import { backoffMs } from '../../../../workers/queue/attempt-error.ts';
import { SendGate } from '../../../../workers/send/send-gate.ts';
import { randomFrom } from '../../../chaos/support/random.ts';
import type { TestRedis } from '../../../support/redis.ts';
import { ANSWERS, TAKEN, type Trouble } from './service-answers.ts';
import { VirtualRedis, type Change } from './virtual-redis.ts';
import { NOT_REFUSED } from '../../../support/not-refused.ts';

/** One case: the fleet, the service, and what goes wrong besides. */
export interface FleetCase {
  /** Of all jobs. */
  readonly delivery: DeliveryPolicy;
  readonly trouble: Trouble;
  /** It is of some jobs alone, and stays; otherwise it is of every job, until it ends. */
  readonly ownFault: boolean;
  /** Jobs that meet it. */
  readonly crowd: number;
  /** One more that meets it is handed over so often, in milliseconds, the last of the crowd's priorities. Default: none */
  readonly moreEvery?: number | undefined;
  /** BullMQ's priorities: of the crowd one after the other, and of the good job. Default: none has one. */
  readonly priorities?: { readonly crowd: readonly number[]; readonly good: number };
  readonly processes: number;
  readonly slots: number;
  /** Milliseconds after the start at which the trouble ends; of own faults never. */
  readonly endsAfter: number;
  /** Milliseconds after that (of own faults: after the start) at which a good job is handed over. */
  readonly arrival: number;
  /** Keys that Redis loses meanwhile, as after a failover. */
  readonly losses: readonly { readonly after: number; readonly key: LostKey }[];
  /** The worker of this probe dies. */
  readonly killedProbe?: number | undefined;
  /** Scripts whose answer is lost. */
  readonly lostAnswers: readonly number[];
  /** No process gets a hint. */
  readonly noHints: boolean;
  readonly seed: number;
}

export const LOST_KEYS = ['hold', 'holdProbe', 'limiter', 'evidence', 'witness'] as const;
type LostKey = (typeof LOST_KEYS)[number];

const SETTINGS = {
  probeMinMs: 1_000,
  probeMaxMs: 8_000,
  retryAfterMaxMs: 60_000,
  probeTtlMs: 3_000,
};
const REQUEST_MS = 300;
/** A worker fetches for all its free slots before the first of these jobs runs. */
const FETCHING_MS = 30;
const HINT_MS = 50;
/** How long a worker waits before it looks again whether it may fetch (queue: send-worker.ts). */
const NAP_MS = 250;
const LOCK_MS = 5_000;
const ATTEMPTS = 10;
const RESENDS = 2;
const BACKOFF = { backoffBaseMs: 1_000, backoffCapMs: 300_000 };
/** Jobs end within this time, or never. */
const LONGEST_MS = 3 * 3_600_000;
const GOOD = 'good';
/** BullMQ's score of a job is its priority times this, and a counter. */
const CLASS = 0x1_0000_0000;

interface Job {
  readonly id: string;
  readonly priority: number;
  attempts: number;
  possiblySent: number;
  /** Requests that were no probes. */
  requests: number;
  end?: 'accepted' | 'rejected' | 'unknown';
}

interface Process {
  readonly gate: SendGate;
  readonly listeners: Map<string, (text: string | undefined) => void>;
  idle: number;
  /** When it looks for jobs next. */
  wakesAt: number;
}

/** What happened in a case. */
export interface FleetRun {
  /** Milliseconds from when the service takes the good job until it was sent; undefined: never. */
  readonly waited: number | undefined;
  /** The longest that it may take. */
  readonly bound: number;
  /** Requests while the queue was held that were no probe, after the hint of the hold had time to arrive. */
  readonly unlawful: number;
  /** Probes sooner after a failed one than the shortest distance. */
  readonly early: number;
  /** Probes while another one was under way. */
  readonly together: number;
  /** Jobs that never ended. */
  readonly stuck: number;
  /** Jobs that were rejected, although the trouble was not their own. */
  readonly wronged: number;
  /** Jobs with more requests that were no probes, or that were possibly sent, than promised. */
  readonly repeated: number;
  readonly probes: number;
}

/** A fleet of workers with the real gates and the real scripts, on a virtual clock. */
export class FleetModel {
  readonly #case: FleetCase;
  readonly #redis: TestRedis;
  readonly #keys: Keys;
  readonly #random: () => number;
  readonly #jobs = new Map<string, Job>();
  readonly #processes: Process[] = [];
  readonly redis: VirtualRedis;
  #events: { readonly at: number; readonly run: () => Promise<void> }[] = [];
  readonly #start: number;
  #sentAt: number | undefined;
  #probes = 0;
  #prioritized = 0;
  #isGoodKilled = false;
  #underWay = 0;
  #failedAt = -Infinity;
  readonly #found = { unlawful: 0, early: 0, together: 0 };

  constructor(redis: TestRedis, one: FleetCase, change?: Change) {
    this.#case = one;
    this.#redis = redis;
    this.#keys = keysOf(redis.freshPrefix(), 'default');
    this.#random = randomFrom(one.seed);
    this.redis = new VirtualRedis(redis, this.#keys.hold, change);
    for (const script of one.lostAnswers) this.redis.lost.add(script);
    this.#start = this.redis.now;
  }

  async run(): Promise<FleetRun> {
    const { crowd, endsAfter, arrival, losses, ownFault } = this.#case;
    const { current } = this.#keys.token('pair');
    await this.#redis.client.hset(current, 'id', 'T');
    for (let index = 0; index < this.#case.processes; index++) this.#addProcess(current);
    const { priorities = { crowd: [0], good: 0 } } = this.#case;
    for (let index = 0; index < crowd; index++) {
      const priority = priorities.crowd[index % priorities.crowd.length] ?? 0;
      await this.#add(`crowd-${index}`, priority);
    }
    const { moreEvery } = this.#case;
    if (moreEvery !== undefined) this.#addMore(crowd, priorities.crowd.at(-1) ?? 0, moreEvery);
    const takenFrom = this.#start + (ownFault ? 0 : endsAfter) + arrival;
    this.#at(takenFrom, () => this.#add(GOOD, priorities.good));
    for (const { after, key } of losses) {
      this.#at(this.#start + after, async () => {
        await this.#redis.client.del(this.#keys[key]);
        this.#wakeSoon();
      });
    }
    const lastLoss = Math.max(0, ...losses.map(({ after }) => this.#start + after));
    const from = Math.max(takenFrom, lastLoss);
    while (this.#goesOn) {
      this.#events.sort((a, b) => a.at - b.at);
      const next = this.#events.shift();
      if (next === undefined || next.at > this.#start + LONGEST_MS) break;
      // It has waited far too long: how much longer says nothing more.
      if (this.#sentAt === undefined && next.at > from + 3 * this.#bound()) break;
      this.redis.now = Math.max(this.redis.now, next.at);
      await next.run();
      await this.#deliverHints();
    }
    return {
      waited: this.#sentAt === undefined ? undefined : Math.max(0, this.#sentAt - from),
      bound: this.#bound(),
      ...this.#found,
      stuck: this.#goesOn ? this.#left : 0,
      wronged: [...this.#jobs.values()].filter(
        ({ id, end, attempts }) =>
          end === 'rejected' && attempts < ATTEMPTS && (id === GOOD || !ownFault),
      ).length,
      repeated: [...this.#jobs.values()].filter(
        ({ requests, possiblySent }) =>
          requests > 2 * ATTEMPTS + RESENDS + 1 || possiblySent > 1 + RESENDS,
      ).length,
      probes: this.#probes,
    };
  }

  /**
   * Two distances and a second; besides, the requests of the probes and the time to fetch them. Where the jobs are
   * searched, one search is for the oldest; while new ones at fault arrive, for that of each of two priorities in turn.
   */
  #bound(): number {
    const { trouble, ownFault, killedProbe, lostAnswers, moreEvery } = this.#case;
    const { probeMinMs: shortest, probeMaxMs: longest, probeTtlMs } = SETTINGS;
    const isUnproven = trouble === 'a refusal' || trouble === 'a page';
    const searched = ownFault && isUnproven ? 3 : 2;
    const distances = moreEvery === undefined ? searched : 2 * OLDEST_EVERY + 1;
    const distance =
      trouble === 'no connection' ? 2 * shortest + 1_000 : isUnproven ? longest / 4 : longest;
    const replaced = (killedProbe === undefined ? 0 : 1) + lostAnswers.length;
    // The good job was possibly sent: it leaves the probe to the others.
    const others = this.#isGoodKilled ? this.#case.crowd * (distance + REQUEST_MS) : 0;
    // At-most-once jobs leave the probe to others, those that met the hold for twice as long.
    const aside = this.#isOnce && !isUnproven ? 2 * ASIDE_STEP_MS + NAP_MS : 0;
    return (
      distances * (distance + aside) +
      1_000 +
      2 * distances * (REQUEST_MS + NAP_MS + FETCHING_MS) +
      replaced * (probeTtlMs + NAP_MS) +
      others
    );
  }

  get #isOnce(): boolean {
    return this.#case.delivery === 'at-most-once';
  }

  /** Where all that are left are at fault themselves, a person decides: the hold stays. */
  get #goesOn(): boolean {
    return this.#jobs.get(GOOD)?.end === undefined || (!this.#case.ownFault && this.#left > 0);
  }

  get #left(): number {
    return [...this.#jobs.values()].filter(({ end }) => end === undefined).length;
  }

  #at(at: number, run: () => Promise<void>): void {
    this.#events.push({ at, run });
  }

  #addProcess(current: string): void {
    const listeners: Process['listeners'] = new Map();
    const hints = {
      subscribe: (channel: string, listener: (text: string | undefined) => void) => {
        listeners.set(channel, listener);
        return () => {};
      },
    };
    const holds = new HoldGate(this.redis.client, hints, this.#keys, current, SETTINGS);
    if (!this.#case.noHints) holds.start();
    const gate = new SendGate({
      isSuspended: () => false,
      isComplete: () => Promise.resolve(true),
      holds,
      rateLimiter: { throttled: () => Promise.resolve() },
      refusal: NOT_REFUSED,
      log: { trouble: () => {} },
    });
    this.#processes.push({ gate, listeners, idle: this.#case.slots, wakesAt: Infinity });
  }

  async #deliverHints(): Promise<void> {
    for (const [channel, text] of await this.redis.published()) {
      for (const { listeners } of this.#processes) {
        this.#at(this.redis.now + this.#random() * HINT_MS, () => {
          listeners.get(channel)?.(text);
          return Promise.resolve();
        });
      }
    }
  }

  /** Hands a job over. */
  async #add(id: string, priority: number): Promise<void> {
    const job = { id, priority, attempts: 0, possiblySent: 0, requests: 0 };
    this.#jobs.set(id, job);
    await this.#toTail(job);
  }

  #addMore(index: number, priority: number, everyMs: number): void {
    this.#at(this.#start + everyMs * (index - this.#case.crowd + 1), async () => {
      if (this.#jobs.get(GOOD)?.end !== undefined) return;
      await this.#add(`crowd-${index}`, priority);
      this.#addMore(index + 1, priority, everyMs);
    });
  }

  /** Behind the others of its priority. */
  async #toTail({ id, priority }: Job): Promise<void> {
    const { client } = this.#redis;
    if (priority === 0) await client.lpush(this.#keys.noticesIn('wait'), id);
    else {
      const score = priority * CLASS + ++this.#prioritized;
      await client.zadd(this.#keys.noticesIn('prioritized'), score, id);
    }
    this.#wakeAll();
  }

  /** Before the others of its priority. */
  async #toHead({ id, priority }: Job): Promise<void> {
    const { client } = this.#redis;
    if (priority === 0) await client.rpush(this.#keys.noticesIn('wait'), id);
    else await client.zadd(this.#keys.noticesIn('prioritized'), priority * CLASS, id);
  }

  #later(job: Job, ms: number): void {
    this.#at(this.redis.now + ms, () => this.#toTail(job));
  }

  #wakeAll(): void {
    for (const process of this.#processes) this.#wake(process, 0);
  }

  #wake(process: Process, afterMs: number): void {
    const at = this.redis.now + afterMs;
    if (process.wakesAt <= at) return;
    process.wakesAt = at;
    this.#at(at, async () => {
      if (process.wakesAt !== at) return;
      process.wakesAt = Infinity;
      await this.#fetch(process);
    });
  }

  /** A worker that found the queue held looks again after a nap. */
  #wakeSoon(): void {
    for (const process of this.#processes) this.#wake(process, this.#random() * NAP_MS);
  }

  /** As BullMQ fetches: nothing while the limiter's key is there. */
  async #fetch(process: Process): Promise<void> {
    if (process.idle === 0) return;
    const { hold, limiter } = this.#keys;
    const [blockedMs, id] = (await this.redis.run(
      FETCH,
      4,
      hold,
      limiter,
      this.#keys.noticesIn('wait'),
      this.#keys.noticesIn('prioritized'),
    )) as [number, string];
    if (blockedMs > 0) this.#wake(process, blockedMs + this.#random() * NAP_MS);
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    process.idle -= 1;
    this.#wake(process, 1);
    const fetchingMs = this.#random() * FETCHING_MS;
    this.#at(this.redis.now + fetchingMs, () => this.#runJob(process, job));
  }

  async #runJob(process: Process, job: Job): Promise<void> {
    const free = () => {
      process.idle += 1;
      this.#wake(process, 1);
    };
    const { id, possiblySent } = job;
    const passage = await process.gate.enter({
      job: id,
      possiblySent: possiblySent + (this.#isOnce ? 1 : 0),
    });
    if (passage === undefined) {
      await this.#toHead(job);
      process.idle += 1;
      this.#wake(process, NAP_MS);
      this.#wakeSoon();
      return;
    }
    if ('asideMs' in passage) {
      this.#later(job, passage.asideMs);
      free();
      return;
    }
    await this.#noteRequest(passage);
    const begunAt = this.redis.now;
    const isTaken = this.#takes(id);
    const isProbe = passage.probe !== undefined;
    if (!isProbe) job.requests += 1;
    if (isProbe && this.#probes++ === this.#case.killedProbe) {
      this.#underWay -= 1;
      this.#isGoodKilled = id === GOOD;
      job.possiblySent += 1;
      this.#later(job, LOCK_MS);
      process.idle += 1;
      return;
    }
    this.#at(begunAt + (0.2 + 0.8 * this.#random()) * REQUEST_MS, async () => {
      if (isTaken && id === GOOD) this.#sentAt ??= begunAt;
      const answer = isTaken ? TAKEN : ANSWERS[this.#case.trouble];
      const attempted = { outcome: decideOutcome(answer), answer, requestedAt: begunAt };
      const outcome = await process.gate.leave(attempted, passage, id);
      if (isProbe) {
        this.#underWay -= 1;
        const isHeld =
          outcome?.kind === 'hold' || (outcome?.kind === 'unknown' && outcome.behindMs);
        if (isHeld) this.#failedAt = this.redis.now;
      }
      await this.#end(job, outcome);
      free();
      this.#wakeSoon();
    });
  }

  #takes(id: string): boolean {
    if (id === GOOD) return true;
    const { ownFault, endsAfter } = this.#case;
    return !ownFault && this.redis.now >= this.#start + endsAfter;
  }

  async #noteRequest({ probe }: Passage): Promise<void> {
    const { losses, lostAnswers, noHints, trouble } = this.#case;
    if (losses.length + lostAnswers.length > 0 || noHints) {
      if (probe !== undefined) this.#underWay += 1;
      return;
    }
    const { now } = this.redis;
    const [since] = await this.#redis.client.hmget(this.#keys.hold, 'since');
    if (probe === undefined) {
      if (since !== undefined && since !== null && now - Number(since) > HINT_MS) {
        this.#found.unlawful += 1;
      }
      return;
    }
    if (this.#underWay > 0) this.#found.together += 1;
    this.#underWay += 1;
    const isUnproven = trouble === 'a refusal' || trouble === 'a page';
    const shortest = isUnproven ? SETTINGS.probeMinMs / 4 : SETTINGS.probeMinMs;
    if (now - this.#failedAt < shortest) this.#found.early += 1;
  }

  /** As disposition.ts and the delivery policy end a job. */
  async #end(job: Job, outcome: Outcome | undefined): Promise<void> {
    switch (outcome?.kind) {
      case 'accepted':
        job.end = 'accepted';
        return;
      case 'rejected':
        job.end = 'rejected';
        return;
      case 'unknown': {
        job.attempts += 1;
        job.possiblySent += 1;
        const mayResend = !this.#isOnce && job.possiblySent <= RESENDS;
        if (!mayResend || job.attempts >= ATTEMPTS) job.end = 'unknown';
        else {
          const { behindMs: ms } = outcome;
          this.#backOff(job, ms === undefined ? { possiblySent: job.possiblySent } : { ms });
        }
        return;
      }
      case 'retry':
        if (!outcome.counted) return this.#later(job, 1_000);
        job.attempts += 1;
        if (job.attempts >= ATTEMPTS) job.end = job.possiblySent > 0 ? 'unknown' : 'rejected';
        else this.#backOff(job, outcome.backoff);
        return;
      case 'hold':
        if (outcome.behindMs !== undefined) return this.#later(job, outcome.behindMs);
        await this.#toHead(job);
        return;
      case 'expired':
      case 'cancelled':
      case undefined:
        await this.#toHead(job);
    }
  }

  #backOff(job: Job, backoff: Parameters<typeof backoffMs>[3]): void {
    this.#later(job, backoffMs(job.attempts, BACKOFF, this.#random(), backoff));
  }
}

/** Milliseconds until jobs may be fetched, and the next job. */
const FETCH = `
local blocked = redis.call('PTTL', KEYS[2])
if blocked > 0 and tonumber(redis.call('GET', KEYS[2]) or 0) > 1000 then return { blocked, '' } end
return { 0, redis.call('RPOP', KEYS[3]) or redis.call('ZPOPMIN', KEYS[4])[1] or '' }`;
