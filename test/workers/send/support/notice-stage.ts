import { deepStrictEqual } from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Job, Queue } from 'bullmq';
import { loadConfig } from '../../../../src/config/config.ts';
import { readNotice } from '../../../../src/contracts/notice.ts';
import { JobHistories } from '../../../../src/fleet/job-history.ts';
import { sentTwiceCounts } from '../../../../src/fleet/possibly-sent-twice.ts';
import { cancelNotice } from '../../../../src/notices/cancel.ts';
import { END_STATES } from '../../../../src/contracts/outcome.ts';
import { lookUpNotice } from '../../../../src/notices/look-up.ts';
import { decideOn } from '../../../support/unknown-notices.ts';
import { planJob, type PlannedJob } from '../../../../src/producer/planned-job.ts';
import { keysOf, QUEUE_NAME, type Keys } from '../../../../src/redis/keys.ts';
import { openBullQueue } from '../../../../src/redis/open-queue.ts';
import { InFlight } from '../../../../workers/queue/in-flight.ts';
import type { SendWorker } from '../../../../workers/queue/send-job.ts';
import { buildSendWorker, lanesOf } from '../../../../workers/queue/send-worker.ts';
import { runNotice, type NoticeContext } from '../../../../workers/send/notice-job.ts';
import { NoticeEnds } from '../../../../workers/send/notice-end.ts';
import type { TestRedis } from '../../../support/redis.ts';
import { HeldLine } from './held-line.ts';
import { OPEN_GATE, openContext } from './open-gate.ts';
import { signal, until } from '../../../support/wait.ts';
import { after } from './notice-model.ts';
import {
  ANSWERS,
  ATTEMPTS,
  RESENDS,
  viewOf,
  type Answer,
  type Move,
  type Rules,
  type World,
} from './notice-world.ts';

const HOUR_MS = 3_600_000;
const DELAY_MS = 60_000;
const SETTINGS = { ...loadConfig({}, { service: false }).worker, attempts: ATTEMPTS };

/** What BullMQ's worker calls by itself while it runs. */
interface WorkerSteps {
  processJob(job: Job, token: string, fetchNext: () => boolean): Promise<unknown>;
  moveStalledJobsToWait(): Promise<void>;
}

/** A run of the job by a worker, held at each of its phases. */
class HeldRun {
  readonly token: string;
  owned = true;
  isDead = false;
  /** The queue is held for it. */
  isHeld = false;
  answer: Answer = 'accepted';
  readonly ready = signal();
  readonly mayAsk = signal();
  readonly asking = signal();
  readonly mayEnd = signal();
  readonly ending = signal();
  readonly mayRecord = signal();
  done: Promise<unknown> = Promise.resolve();

  constructor(token: string) {
    this.token = token;
  }

  /** Makes the moves of the job wait for the test. */
  hold(job: Job): void {
    const held =
      <Args extends unknown[], Result>(move: (...args: Args) => Promise<Result>) =>
      async (...args: Args): Promise<Result> => {
        this.ending.resolve();
        await this.mayRecord.promise;
        return move.apply(job, args);
      };
    job.moveToCompleted = held(job.moveToCompleted.bind(job));
    job.moveToFailed = held(job.moveToFailed.bind(job));
    job.moveToWait = held(job.moveToWait.bind(job));
    job.moveToDelayed = held(job.moveToDelayed.bind(job));
  }
}

/** One of the two workers. */
interface StageWorker {
  readonly line: HeldLine;
  readonly worker: SendWorker;
  readonly steps: WorkerSteps;
  run: HeldRun | undefined;
}

/**
 * Two workers of the real code on a real Redis, which take their jobs only when told to. It is used for one
 * notice after the other.
 */
export class NoticeStage {
  readonly #redis: TestRedis;
  readonly #rules: Rules;
  readonly #prefix: string;
  readonly #keys: Keys;
  readonly #queue: Queue;
  readonly #workers: readonly [StageWorker, StageWorker];
  /** Takes no job; it only looks for stalled ones, for Redis may refuse the writes of the two. */
  readonly #third: SendWorker;
  /** The run that a call belongs to: one that was killed must not go on as the next one of its worker. */
  readonly #current = new AsyncLocalStorage<HeldRun>();
  #job: PlannedJob | undefined;
  #runs = 0;
  #accepted = 0;
  /** How far the clock of the workers is ahead. */
  #aheadMs = 0;

  /** @param rules of the model that it is compared with */
  constructor(redis: TestRedis, rules: Rules) {
    this.#redis = redis;
    this.#rules = rules;
    this.#prefix = redis.freshPrefix();
    this.#keys = keysOf(this.#prefix, 'default');
    this.#queue = openBullQueue(QUEUE_NAME, redis.client, this.#keys);
    this.#workers = [this.#build(0), this.#build(1)];
    this.#third = buildSendWorker(
      {
        redis: redis.connect({ forWorker: true }),
        keys: this.#keys,
        lane: lanesOf(SETTINGS).notices,
        settings: SETTINGS,
        inFlight: new InFlight(),
      },
      fail,
    );
    this.#third.on('error', () => {});
  }

  async close(): Promise<void> {
    for (const { worker } of this.#workers) await worker.close(true);
    await this.#third.close(true);
    await this.#queue.close();
  }

  /** Plays a notice from its first world on; throws where the real one differs from the model. */
  async play(first: World, moves: readonly Move[]): Promise<void> {
    await this.#clear();
    await this.#add(first);
    let world = first;
    await this.#compare(world, 'added');
    for (const move of moves) {
      const next = after(world, move, this.#rules);
      await this.#move(move, world, next);
      world = next;
      await this.#compare(world, JSON.stringify(move));
    }
  }

  async #clear(): Promise<void> {
    const keys = await this.#redis.keys(`${this.#prefix}:`);
    if (keys.length > 0) await this.#redis.client.unlink(...keys);
    this.#accepted = 0;
    this.#aheadMs = 0;
    for (const one of this.#workers) {
      one.run = undefined;
      one.line.refuses = false;
    }
  }

  async #add({ delivery, place }: World): Promise<void> {
    const now = Date.now();
    this.#job = planJob(
      readNotice({ templateCode: 'ONCE', contacts: [{ contact: '01000000001' }] }, ''),
      { expiresAt: now + HOUR_MS, ...(place === 'delayed' ? { delay: DELAY_MS } : {}) },
      { delivery, idempotencyWindowMs: HOUR_MS, now: Date.now, secret: '' },
    );
    await this.#addJob();
  }

  async #addJob(): Promise<void> {
    const job = this.#job ?? fail();
    await this.#queue.addBulk([{ ...job, opts: { ...job.opts } }]);
  }

  get #id(): string {
    return this.#job?.opts.jobId ?? fail();
  }

  #build(index: 0 | 1): StageWorker {
    const line = new HeldLine(this.#redis.connect({ forWorker: true }));
    const runOf = (): HeldRun => this.#current.getStore() ?? fail();
    line.isDead = () => this.#current.getStore()?.isDead === true;
    const open = openContext(line.redis);
    const histories = new JobHistories(line.redis, this.#keys);
    const context: NoticeContext = {
      ...open,
      gate: {
        ...OPEN_GATE,
        enter: (job) => (runOf().isHeld ? Promise.resolve(undefined) : OPEN_GATE.enter(job)),
      },
      histories,
      worker: `worker ${index}`,
      ends: new NoticeEnds(line.redis, this.#keys, 0),
      ...sentTwiceCounts(line.redis, this.#keys),
      service: {
        send: async (_notice, _tokens, { guard }) => {
          const run = runOf();
          await guard?.check(open.stopping);
          if (run.answer.startsWith('accepted')) this.#accepted += 1;
          run.asking.resolve();
          await run.mayEnd.promise;
          return ANSWERS[run.answer];
        },
      },
      inOneWrite: () => {},
      locks: {
        of: () => {
          const run = runOf();
          return { valid: () => run.owned, release: () => {} };
        },
      },
      unknownResends: RESENDS,
      now: () => Date.now() + this.#aheadMs,
    };
    const worker = buildSendWorker(
      {
        redis: line.redis,
        keys: this.#keys,
        lane: lanesOf(SETTINGS).notices,
        settings: SETTINGS,
        inFlight: new InFlight(),
        forget: (job) => histories.forget(job),
      },
      async (job) => {
        const run = runOf();
        run.ready.resolve();
        await run.mayAsk.promise;
        return runNotice(job, context);
      },
    );
    worker.on('error', () => {});
    return { line, worker, steps: worker as unknown as WorkerSteps, run: undefined };
  }

  async #move(move: Move, before: World, next: World): Promise<void> {
    const { client } = this.#redis;
    const keys = this.#keys;
    const context = { redis: client, keys };
    switch (move.kind) {
      case 'add again':
        return this.#addJob();
      case 'due':
        this.#aheadMs += 2 * DELAY_MS;
        await (await this.#queue.getJob(this.#id))?.promote();
        return;
      case 'stall':
        // The first look marks the job, the second one finds it marked.
        for (let look = 0; look < 2; look++) {
          await client.del(keys.noticeJob('stalled-check'));
          await (this.#third as unknown as WorkerSteps).moveStalledJobsToWait();
        }
        return;
      case 'expire':
        this.#aheadMs += 2 * HOUR_MS;
        return;
      case 'cancel':
        await cancelNotice(client, keys, this.#id);
        return;
      case 'remove':
        // As it is done when a job or an entry is older than its retention.
        await client.zrem(keys.noticeJob(before.place), this.#id);
        await client.del(keys.noticeJob(this.#id));
        await client.hdel(keys.ended, this.#id);
        for (const state of END_STATES) await client.zrem(keys.endedIn(state), this.#id);
        return;
      case 'redrive': {
        const state = viewOf(before).state === 'unknown' ? 'unknown' : 'rejected';
        await decideOn(context, { state, ids: [this.#id] }, { as: 'resend' });
        return;
      }
      case 'accept':
      case 'discard':
      case 'resend': {
        const as = move.kind === 'accept' ? 'accepted' : move.kind;
        await decideOn(context, { state: 'unknown', ids: [this.#id] }, { as });
        return;
      }
      default:
        return this.#moveWorker(move, next);
    }
  }

  async #moveWorker(move: Extract<Move, { worker: 0 | 1 }>, next: World): Promise<void> {
    const one = this.#workers[move.worker];
    if (move.kind === 'fetch') {
      await this.#fetch(one);
      return this.#reach(one, next, move.worker);
    }
    const run = one.run ?? fail();
    const lock = this.#keys.noticeLock(this.#id);
    switch (move.kind) {
      case 'requeue':
        run.isHeld = true;
        run.mayAsk.resolve();
        return this.#reach(one, next, move.worker);
      case 'ask':
        run.answer = move.answer;
        run.mayAsk.resolve();
        return this.#reach(one, next, move.worker);
      case 'answer':
        run.mayEnd.resolve();
        return this.#reach(one, next, move.worker);
      case 'kill':
        run.isDead = true;
        one.run = undefined;
        one.line.refuses = false;
        return this.#free(lock, run);
      case 'lose lock':
        run.owned = false;
        return this.#free(lock, run);
      case 'refused': {
        const refused = signal();
        one.line.onRefusal = () => refused.resolve();
        one.line.refuses = true;
        run.mayRecord.resolve();
        return refused.promise;
      }
      case 'record':
        one.line.refuses = false;
        one.line.repeatsNext = move.twice;
        run.mayRecord.resolve();
        await run.done;
        one.line.repeatsNext = false;
        one.run = undefined;
    }
  }

  /** The lock of the run ends, unless another run has one. */
  async #free(lock: string, run: HeldRun): Promise<void> {
    const { client } = this.#redis;
    if ((await client.get(lock)) === run.token) await client.del(lock);
  }

  async #fetch(one: StageWorker): Promise<void> {
    const run = new HeldRun(`token-${(this.#runs += 1)}`);
    // A worker that requeued a job takes the next one after a moment.
    const fetchOne = async () =>
      ((await one.worker.getNextJob(run.token, { block: false })) as Job | undefined) ?? false;
    const job = await until(fetchOne, { what: 'a job' });
    run.hold(job);
    one.run = run;
    run.done = this.#current.run(run, () => one.steps.processJob(job, run.token, () => false));
  }

  /** Waits until the run is in the phase of the model, and fails if it gets to a later one instead. */
  async #reach(one: StageWorker, next: World, worker: 0 | 1): Promise<void> {
    const run = one.run ?? fail();
    const phase = next.runs[worker]?.phase ?? fail();
    const reached = (name: typeof phase) => run[name].promise.then(() => name);
    const order = ['ready', 'asking', 'ending'] as const;
    const later = order.slice(order.indexOf(phase));
    const found = await Promise.race(later.map(reached));
    deepStrictEqual(found, phase, 'the phase of the run');
  }

  async #compare(world: World, what: string): Promise<void> {
    const { state, attempts, possiblySent } = await lookUpNotice(
      { redis: this.#redis.client, keys: this.#keys },
      this.#id,
    );
    const twice = await this.#redis.client.hget(this.#keys.counts, 'noticesTwice');
    deepStrictEqual(
      { state, attempts, possiblySent, twice: Number(twice ?? 0), accepted: this.#accepted },
      {
        ...viewOf(world),
        twice: world.twice,
        accepted: world.accepted + world.acceptedBefore,
      },
      `after ${what}`,
    );
  }
}

function fail(): never {
  throw new Error('it is not there');
}
