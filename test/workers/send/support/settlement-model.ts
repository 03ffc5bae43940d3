import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { DelayedError, RateLimitError, UnrecoverableError, type Job } from 'bullmq';
import * as fc from 'fast-check';
import { Ledger } from '../../../../src/batch/ledger/ledger.ts';
import { decodeContacts, encodePayload } from '../../../../src/payload/chunk-payload.ts';
import { NO_HISTORY } from '../../../../src/fleet/job-history.ts';
import { chunkJobId } from '../../../../src/contracts/job.ts';
import type { DeliveryPolicy } from '../../../../src/contracts/outcome.ts';
import { NoticeQueueError } from '../../../../src/contracts/errors.ts';
import type { Contact } from '../../../../src/contracts/notice.ts';
import { keysOf, type Keys } from '../../../../src/redis/keys.ts';
import { AttemptError } from '../../../../workers/queue/attempt-error.ts';
import { runChunk } from '../../../../workers/send/chunk-job.ts';
import type { ChunkContext } from '../../../../workers/send/chunk-record.ts';
import { PLAN, RETENTION_MS } from '../../../batch/support/batch-bench.ts';
import type { TestRedis } from '../../../support/redis.ts';
import { signal } from '../../../support/wait.ts';
import { openContext } from './open-gate.ts';
import { withMistake, type Mistake } from './planted-script.ts';
import type { SendAnswer } from '../../../../src/service/send-call.ts';

/** What becomes of a command of the ledger. */
type Reply = 'answered' | 'refused' | 'lost' | 'killed before' | 'killed after';

/** What becomes of a request. */
interface Request {
  readonly answer:
    | 'accepted'
    | 'accepted, no answer'
    | 'not accepted, no answer'
    | 'rejected'
    | 'busy'
    | 'no credit'
    | 'not sent';
  /**
   * - `stalled`: another worker gets the job and runs it to its end before the answer comes;
   * - `overtaken`: the same, and its request is under way when the answer comes.
   */
  readonly worker: 'runs' | 'killed' | 'stalled' | 'overtaken';
}

/** The faults of a history, in the order in which they are met; afterwards everything works. */
export interface History {
  readonly delivery: DeliveryPolicy;
  readonly bisect: boolean;
  readonly replies: readonly Reply[];
  readonly requests: readonly Request[];
}

const reply = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Reply>('answered') },
  { weight: 3, arbitrary: fc.constant<Reply>('lost') },
  { weight: 1, arbitrary: fc.constantFrom<Reply>('refused', 'killed before', 'killed after') },
);
const request = fc.record<Request>({
  answer: fc.constantFrom(
    'accepted',
    'accepted, no answer',
    'not accepted, no answer',
    'rejected',
    'rejected',
    'rejected',
    'busy',
    'no credit',
    'not sent',
  ),
  worker: fc.oneof(
    { weight: 6, arbitrary: fc.constant('runs' as const) },
    {
      weight: 2,
      arbitrary: fc.constantFrom('killed' as const, 'stalled' as const, 'overtaken' as const),
    },
  ),
});

/** Any history. */
export const HISTORY = fc.record<History>({
  delivery: fc.constantFrom('at-least-once', 'at-most-once'),
  bisect: fc.boolean(),
  replies: fc.array(reply, { maxLength: 12 }),
  requests: fc.array(request, { maxLength: 14 }),
});

const SIZES = [3, 3, 1];
const ATTEMPTS = 4;
const RESENDS = 2;
/** A history has at most so many runs with a fault, and each chunk needs one more. */
const MOST_RUNS = 60;

const WHOLE = { requests: 1, durationMs: 1, refused: [], body: 'json' } as const;

/** The outcome table is not under test: one answer for each kind of outcome. */
const ANSWERS: Readonly<Record<Request['answer'], SendAnswer>> = {
  accepted: { ...WHOLE, stage: 'answered', status: 200 },
  'accepted, no answer': { ...WHOLE, stage: 'sent' },
  'not accepted, no answer': { ...WHOLE, stage: 'sent' },
  rejected: { ...WHOLE, stage: 'answered', status: 400, code: 'BAD_CONTACT' },
  busy: { ...WHOLE, stage: 'answered', status: 408 },
  'no credit': { ...WHOLE, stage: 'answered', status: 402 },
  'not sent': { ...WHOLE, stage: 'not-sent', failure: 'reset' },
};

/** A contact as the service knows it. */
interface Seen {
  accepted: number;
  /** Requests that it may have accepted, as far as the sender can know. */
  possiblySent: number;
  /** Its acceptance was answered to a worker that lived on and had the job to the end. */
  isOver: boolean;
}

/** The fields that BullMQ keeps of a job between its runs. */
interface StoredJob {
  attemptsMade: number;
  stalledCounter: number;
  isOver: boolean;
}

interface RunFate {
  /** Its lock ran out. The worker knows by the time, before another one can have the job. */
  lostLock: boolean;
  /** Ends the worker of the run. */
  readonly die: () => void;
  readonly ended: Promise<unknown>;
  /** A run of the same job by another worker, whose request ends after this run. */
  overtaker: Promise<void> | undefined;
  /** Contacts whose acceptance was answered. */
  readonly answered: Set<string>;
}

/** A batch whose chunks are run through a history by the code of the worker, on a real Redis. */
export class SettlementRun {
  readonly #history: History;
  readonly #replies: Reply[];
  readonly #requests: Request[];
  readonly #redis: TestRedis;
  readonly #keys: Keys;
  readonly #ledger: Ledger;
  readonly #seen = new Map<string, Seen>();
  readonly #jobs = new Map<number, StoredJob>();
  readonly #mistake: Mistake | undefined;
  /** What a request has met that must not be: thrown there, the worker would take it for its own fault. */
  readonly #unlawful: string[] = [];
  #runs = 0;
  /** The request of the run that overtakes another one. */
  #overtaker: { readonly started: () => void; readonly mayEnd: Promise<unknown> } | undefined;

  /** @param mistake planted in the scripts or in the worker, to see that it is noticed. Default: none */
  constructor(redis: TestRedis, history: History, mistake?: Mistake) {
    this.#history = history;
    this.#replies = [...history.replies];
    this.#requests = [...history.requests];
    this.#redis = redis;
    this.#keys = keysOf(redis.freshPrefix(), 'default');
    this.#ledger = new Ledger(withMistake(redis.client, mistake), this.#keys);
    this.#mistake = mistake;
  }

  async play(): Promise<void> {
    await this.#import();
    for (;;) {
      const batch = await this.#ledger.read('b');
      if (batch?.phase === 'finished') break;
      const states = await this.#ledger.states('b', 0, batch?.chunks ?? 0);
      for (const [chunk, state] of states.entries()) {
        if (state === 'settled') continue;
        strictEqual(this.#jobOf(chunk).isOver, false, `chunk ${chunk} is ${state} without a job`);
        await this.#run(chunk);
      }
      ok(this.#runs < MOST_RUNS, 'the batch does not finish');
    }
    await this.#judge();
  }

  async #import(): Promise<void> {
    const { delivery, bisect } = this.#history;
    const plan = { ...PLAN, chunkSize: 3, delivery, bisect };
    await this.#ledger.start('b', plan, 'print', RETENTION_MS);
    for (const [chunk, size] of SIZES.entries()) {
      const contacts = Array.from({ length: size }, (_, at) => ({ contact: `${chunk}-${at}` }));
      for (const { contact } of contacts)
        this.#seen.set(contact, { accepted: 0, possiblySent: 0, isOver: false });
      const payload = await encodePayload(JSON.stringify(contacts));
      await this.#ledger.store('b', { chunk, size, rows: 0, payload });
    }
    await this.#ledger.endImport('b', 0, 0);
  }

  #of(contact: string): Seen {
    return this.#seen.get(contact) ?? fail();
  }

  #jobOf(chunk: number): StoredJob {
    const known = this.#jobs.get(chunk);
    if (known !== undefined) return known;
    const job = { attemptsMade: 0, stalledCounter: 0, isOver: false };
    this.#jobs.set(chunk, job);
    return job;
  }

  /** One run of the job of a chunk; ends as BullMQ ends it. */
  async #run(chunk: number): Promise<void> {
    const stored = this.#jobOf(chunk);
    const lockToken = `lock-${(this.#runs += 1)}`;
    const lock = `${this.#keys.bullPrefix}:${chunk}:lock`;
    await this.#redis.client.set(lock, lockToken);
    const death = signal<'killed'>();
    const over = signal();
    const job = {
      ...stored,
      id: chunkJobId({ batch: 'b', chunk }),
      token: lockToken,
      data: { v: 1, batch: 'b', chunk },
      opts: { attempts: ATTEMPTS },
      timestamp: 0,
      delay: 0,
      moveToDelayed: () => Promise.resolve(),
    } as unknown as Job;
    const answered = new Set<string>();
    const fate: RunFate = {
      lostLock: false,
      die: () => death.resolve('killed'),
      ended: over.promise,
      overtaker: undefined,
      answered,
    };
    const run = runChunk(job, this.#context(chunk, lock, fate)).then(
      () => 'done' as const,
      (error: unknown) => error,
    );
    const ended = await Promise.race([run, death.promise]);
    over.resolve();
    await fate.overtaker;
    // The lock has another owner: what this run ended with does not reach the job.
    if ((await this.#redis.client.get(lock)) !== lockToken) return;
    if (ended === 'killed') {
      stored.stalledCounter += 1;
      return;
    }
    for (const contact of answered) this.#of(contact).isOver = true;
    if (ended === 'done' || ended instanceof UnrecoverableError) stored.isOver = true;
    else if (ended instanceof AttemptError) {
      stored.attemptsMade += 1;
      stored.isOver = stored.attemptsMade >= ATTEMPTS;
    } else if (!(ended instanceof DelayedError || ended instanceof RateLimitError)) throw ended;
  }

  #context(chunk: number, lock: string, fate: RunFate): ChunkContext {
    const ledger = this.#ledger;
    return {
      ...openContext(this.#redis.client),
      lists: new Map(),
      locks: { of: () => ({ valid: () => !fate.lostLock, release: () => {} }) },
      service: {
        sendBytes: async (_frame, contacts, _tokens, { guard }) => {
          await guard?.check(new AbortController().signal);
          return this.#request(chunk, contacts, fate);
        },
      },
      ledger: {
        claim: (...args) => this.#command(() => ledger.claim(...args), fate),
        redrive: (...args) => ledger.redrive(...args),
        suppress: (...args) => this.#command(() => ledger.suppress(...args), fate),
        halve: (...args) => this.#command(() => ledger.halve(...args), fate),
        settle: (...args) => {
          const settling = this.#command(() => ledger.settle(...args), fate);
          if (this.#mistake !== 'settlements are not repeated') return settling;
          return settling.catch(() => 'known' as const);
        },
      },
      histories: { read: () => Promise.resolve(NO_HISTORY) },
      unknownResends: RESENDS,
      lockKey: () => lock,
    };
  }

  async #command<Answer>(execute: () => Promise<Answer>, { die }: RunFate): Promise<Answer> {
    const fate = this.#replies.shift() ?? 'answered';
    if (fate === 'refused') throw new NoticeQueueError('QUEUE_REFUSED');
    const answer = fate === 'killed before' ? undefined : await execute();
    switch (fate) {
      case 'answered':
        return answer as Answer;
      case 'lost':
        throw new NoticeQueueError('QUEUE_UNAVAILABLE');
      case 'killed before':
      case 'killed after':
        die();
        return new Promise<Answer>(() => {});
    }
  }

  async #request(chunk: number, bytes: Uint8Array, fate: RunFate): Promise<SendAnswer> {
    const { die, answered } = fate;
    const next = this.#requests.shift();
    const { answer, worker } = next ?? { answer: 'accepted' as const, worker: 'runs' as const };
    const contacts = JSON.parse(Buffer.from(bytes).toString()) as readonly Contact[];
    for (const { contact } of contacts) {
      const seen = this.#of(contact);
      if (seen.isOver) this.#unlawful.push(`${contact} is sent again after its acceptance`);
      if (this.#history.delivery === 'at-most-once' && seen.possiblySent > 0) {
        this.#unlawful.push(`${contact} is sent again under at-most-once`);
      }
      if (answer.startsWith('accepted')) seen.accepted += 1;
      if (answer.startsWith('accepted') || answer.endsWith('no answer') || worker === 'killed') {
        seen.possiblySent += 1;
      }
    }
    if (this.#overtaker !== undefined) {
      const { started, mayEnd } = this.#overtaker;
      this.#overtaker = undefined;
      started();
      await mayEnd;
    }
    switch (worker) {
      case 'runs':
        break;
      case 'killed':
        die();
        return new Promise<SendAnswer>(() => {});
      case 'stalled':
        fate.lostLock = true;
        this.#jobOf(chunk).stalledCounter += 1;
        await this.#run(chunk);
        break;
      case 'overtaken': {
        fate.lostLock = true;
        this.#jobOf(chunk).stalledCounter += 1;
        const started = signal();
        this.#overtaker = { started: () => started.resolve(), mayEnd: fate.ended };
        fate.overtaker = this.#run(chunk);
        // Awaited at the end of this run.
        fate.overtaker.catch(() => {});
        await Promise.race([started.promise, fate.overtaker]);
        this.#overtaker = undefined;
      }
    }
    if (answer === 'accepted') for (const { contact } of contacts) answered.add(contact);
    return ANSWERS[answer];
  }

  /** A worker that ends after its claim may have sent the chunk. */
  get #killsWorkers(): boolean {
    const { replies, requests } = this.#history;
    return (
      replies.some((fate) => fate.startsWith('killed')) ||
      requests.some(({ worker }) => worker !== 'runs')
    );
  }

  /** What a person sees of the batch, against what the service has seen. */
  async #judge(): Promise<void> {
    deepStrictEqual(this.#unlawful, []);
    const batch = await this.#ledger.read('b');
    const {
      total,
      pending,
      sending,
      accepted,
      rejected,
      unknown,
      expired,
      cancelled,
      suppressed,
      ...rest
    } = batch?.counts ?? fail();
    deepStrictEqual({ pending, sending, expired, cancelled, suppressed }, NONE);
    strictEqual(total, this.#seen.size);
    strictEqual(accepted + rejected + unknown, total);
    strictEqual(await this.#ledger.unsent(), 0);

    const listed = new Map<string, string>();
    for await (const { name, state, size } of this.#ledger.failures('b')) {
      const contacts = await decodeContacts((await this.#ledger.payload('b', name)) ?? fail());
      strictEqual(contacts.length, size);
      for (const { contact } of contacts) {
        strictEqual(listed.get(contact), undefined, `${contact} is listed twice`);
        listed.set(contact, state);
      }
    }
    const inState = (wanted: string) => [...listed.values()].filter((one) => one === wanted).length;
    deepStrictEqual([inState('rejected'), inState('unknown')], [rejected, unknown]);
    let twice = 0;
    for (const [contact, seen] of this.#seen) {
      const state = listed.get(contact) ?? 'accepted';
      if (state === 'accepted') ok(seen.accepted > 0, `${contact} counts as accepted`);
      if (state === 'rejected') strictEqual(seen.accepted, 0, `${contact} counts as rejected`);
      if (state === 'unknown' && !this.#killsWorkers) {
        ok(seen.possiblySent > 0, `${contact} counts as unknown`);
      }
      twice += Math.max(0, seen.accepted - 1);
    }
    ok(twice <= rest.possiblySentTwice, `${twice} sent twice, ${rest.possiblySentTwice} counted`);
    const events = await this.#redis.client.xrange(this.#keys.events, '-', '+');
    strictEqual(events.filter(([, fields]) => fields.includes('batch.finished')).length, 1);
  }
}

const NONE = { pending: 0, sending: 0, expired: 0, cancelled: 0, suppressed: 0 };

function fail(): never {
  throw new Error('it is not there');
}
