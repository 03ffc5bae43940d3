import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import * as fc from 'fast-check';
import type { FailureRecord } from '../../../src/batch/ledger/ledger-reader.ts';
import type { Ledger } from '../../../src/batch/ledger/ledger.ts';
import {
  allAccepted,
  allBack,
  allFailed,
  type Settlement,
} from '../../../src/batch/ledger/settlement.ts';
import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import type { TestRedis } from '../../support/redis.ts';
import { PLAN, RETENTION_MS } from './batch-bench.ts';
import { LedgerModel } from './ledger-model.ts';

/** A payload is the names of its contacts, so that claims can be checked contact by contact. */
const encode = (contacts: readonly string[]) => Buffer.from(contacts.join(' '));
const decode = (payload: Buffer | undefined) => payload?.toString().split(' ') ?? [];

/** An attempt that claimed a chunk. It may settle, settle again, or be late. */
interface Attempt {
  readonly chunk: number;
  readonly nonce: string;
  readonly contacts: readonly string[];
  /** Those that its claim counted as sent again. */
  readonly twice: readonly string[];
}

const STATES = ['rejected', 'unknown', 'expired'] as const;

/** What an attempt may say. */
const ENDINGS: readonly Settlement[] = [
  allAccepted(),
  allBack(false),
  allBack(true),
  ...STATES.map((state) => allFailed(state, state.toUpperCase(), '')),
];

const index = fc.nat(5);
type Taken = Readonly<Record<string, fc.Arbitrary<unknown>>>;
type Moved<Name, Takes extends Taken> = { readonly move: Name } & {
  readonly [Field in keyof Takes]: Takes[Field] extends fc.Arbitrary<infer Value> ? Value : never;
};
/** One kind of move, with what it takes. */
const move = <Name extends string, Takes extends Taken>(
  weight: number,
  name: Name,
  takes?: Takes,
) => {
  const arbitrary: unknown = fc.record({ move: fc.constant(name), ...takes });
  return { weight, arbitrary: arbitrary as fc.Arbitrary<Moved<Name, Takes>> };
};

/** Any move of a batch; those after which little can happen are rare. */
export const MOVES = fc.oneof(
  move(8, 'store', { size: fc.integer({ min: 1, max: 5 }) }),
  move(2, 'store again', { chunk: index }),
  move(4, 'end import'),
  move(24, 'claim', { chunk: index, owned: fc.nat(9) }),
  move(3, 'claim again', { attempt: index }),
  move(24, 'settle', { attempt: index, ending: fc.constantFrom(...ENDINGS) }),
  move(8, 'halve', { attempt: index, cut: fc.nat(9) }),
  move(8, 'control', {
    verb: fc.constantFrom('pause', 'pause', 'resume', 'resume', 'resume', 'cancel'),
  }),
  move(8, 'redrive', {
    failure: index,
    state: fc.constantFrom(undefined, ...STATES),
    isHeld: fc.boolean(),
  }),
  move(6, 'resolve', {
    failure: index,
    as: fc.constantFrom('accepted', 'cancelled'),
    state: fc.constantFrom(undefined, ...STATES),
  }),
  move(4, 'split', { failure: index, cut: fc.nat(9) }),
  move(6, 'take out', { chunk: index, cut: fc.nat(9) }),
  move(1, 'deadline'),
  move(2, 'stall'),
  move(3, 'queue', { limit: fc.integer({ min: 1, max: 3 }) }),
);

type Move = typeof MOVES extends fc.Arbitrary<infer Value> ? Value : never;

/** A batch of the ledger and its model, and what was claimed from it. */
export class Pair {
  readonly id: string;
  readonly model: LedgerModel;
  /** Contacts that were handed out again and may arrive twice. */
  twice = 0;
  readonly #redis: TestRedis;
  readonly #ledger: Ledger;
  readonly #keys: Keys;
  readonly #delivery: DeliveryPolicy;
  readonly #attempts: Attempt[] = [];
  /** Contacts that were claimed and may have been accepted, and by how many attempts. */
  readonly #open = new Map<string, number>();
  #names = 0;

  constructor(id: string, delivery: DeliveryPolicy, redis: TestRedis, ledger: Ledger, keys: Keys) {
    this.#redis = redis;
    this.id = id;
    this.model = new LedgerModel(delivery);
    this.#ledger = ledger;
    this.#keys = keys;
    this.#delivery = delivery;
  }

  async start(): Promise<void> {
    const plan = { ...PLAN, chunkSize: 3, delivery: this.#delivery };
    strictEqual(await this.#ledger.start(this.id, plan, 'print', RETENTION_MS), 'started');
    await this.#redis.client.set(`${this.#keys.bullPrefix}:lock`, 'mine');
  }

  async play(move: Move): Promise<void> {
    const { model, id } = this;
    const ledger = this.#ledger;
    switch (move.move) {
      case 'store': {
        const contacts = Array.from({ length: move.size }, () => `c${(this.#names += 1)}`);
        const chunk = model.stored;
        const answer = await ledger.store(id, {
          chunk,
          size: move.size,
          rows: 0,
          payload: encode(contacts),
        });
        strictEqual(answer, model.store(contacts));
        return;
      }
      case 'store again': {
        if (move.chunk === model.stored) return;
        const answer = await ledger.store(id, {
          chunk: move.chunk,
          size: 2,
          rows: 0,
          payload: encode(['x', 'y']),
        });
        strictEqual(answer, model.storeAgain(move.chunk));
        return;
      }
      case 'end import':
        model.endImport();
        strictEqual(await ledger.endImport(id, 0, 0), 'imported');
        return;
      case 'claim':
        return this.#claim(move.chunk, `n${(this.#names += 1)}`, move.owned > 0);
      case 'claim again': {
        const attempt = this.#attempts[move.attempt % this.#attempts.length];
        // Only the answer to a claim can get lost, so nothing came after it.
        if (attempt === undefined) return;
        if (model.chunks[attempt.chunk]?.holder !== attempt.nonce) return;
        return this.#claim(attempt.chunk, attempt.nonce, true);
      }
      case 'settle':
        return this.#settle(move);
      case 'halve':
        return this.#halve(move);
      case 'control': {
        const done = model.control(move.verb);
        deepStrictEqual(await ledger.control(id, move.verb), { done, phase: model.phase });
        return;
      }
      case 'redrive': {
        const names = [...model.failures.keys()];
        const name = names[move.failure % names.length] ?? '0';
        const contacts = model.failures.get(name)?.contacts ?? [];
        const state = move.state ?? this.#stateOf(name);
        const done = model.redrive(name, state, move.isHeld);
        strictEqual(await ledger.redrive(id, name, state, '', move.isHeld), done);
        if (done !== 'redriven') return;
        // Asked for by name: that these may come twice is what the caller wants, and it is counted.
        for (const contact of contacts) this.#open.delete(contact);
        if (state === 'unknown') this.twice += contacts.length;
        return;
      }
      case 'resolve': {
        const name = this.#decidable(move.failure);
        const state = move.state ?? this.#stateOf(name);
        const done = model.resolve(name, move.as, state);
        strictEqual(await ledger.resolve(id, name, move.as, state), done);
        return;
      }
      case 'split': {
        const name = this.#decidable(move.failure);
        const contacts =
          model.failures.get(name)?.contacts ?? model.chunks[Number(name)]?.contacts ?? [];
        const at = move.cut % (contacts.length + 1);
        const taken = {
          size: at,
          payload: encode(contacts.slice(0, at)),
          rest: encode(contacts.slice(at)),
        };
        const state = this.#stateOf(name);
        const part = model.split(name, at, state);
        strictEqual(await ledger.splitFailure(id, name, contacts.length, taken, state), part);
        return;
      }
      case 'take out': {
        const contacts = model.chunks[move.chunk]?.contacts ?? [];
        const taken = 1 + (move.cut % Math.max(1, contacts.length));
        const rest = contacts.slice(taken);
        const answer = await ledger.takeOut(id, move.chunk, contacts.length, {
          size: taken,
          rest: rest.length === 0 ? undefined : encode(rest),
        });
        strictEqual(answer, model.takeOut(move.chunk, taken));
        return;
      }
      case 'deadline':
        model.passDeadline();
        return this.#set('expiresAt');
      case 'stall':
        await this.#set('movedAt');
        strictEqual(await ledger.restartStalled(id, 60_000), model.restart());
        return;
      case 'queue': {
        const window = model.queue(move.limit);
        const next = await ledger.chunksWithoutJob(id, move.limit, 0);
        deepStrictEqual(next && { first: next.first, end: next.end }, window);
        if (next === undefined) return;
        deepStrictEqual(
          next.chunks.map(({ chunk }) => chunk),
          model.unsettled(next.first, next.end),
        );
        // Noted twice: the second one is a repetition of the command.
        await ledger.chunksWithoutJob(id, 0, 0, next);
        strictEqual(await ledger.chunksWithoutJob(id, 0, 0, next), undefined);
        return;
      }
    }
  }

  async check(): Promise<void> {
    const { model, id } = this;
    const [batch, look, states] = await Promise.all([
      this.#ledger.read(id),
      this.#redis.client.zscore(this.#keys.openBatches, id),
      this.#ledger.states(id, 0, model.chunks.length + 1),
      this.#checkSums(),
      this.#checkContacts(),
    ]);
    const { total, pending, accepted, rejected, unknown, expired, cancelled } = model.counts();
    strictEqual(pending + accepted + rejected + unknown + expired + cancelled, total);
    strictEqual(batch?.phase, model.phase);
    strictEqual(batch?.queued, model.queued);
    strictEqual(batch?.chunksOfList, model.stored);
    strictEqual(look !== null, model.isOpen);
    deepStrictEqual(batch?.counts, model.counts());
    // Every handing-out of what may have been taken is counted, and nothing else.
    strictEqual(batch?.counts.possiblySentTwice, this.twice);
    deepStrictEqual(states, [...model.chunks.map(({ state }) => state), 'none']);
  }

  #decidable(draw: number): string {
    const names = this.model.decidable();
    return names[draw % names.length] ?? '0';
  }

  #stateOf(name: string): FailureRecord['state'] {
    return this.model.failures.get(name)?.state ?? 'unknown';
  }

  /** The failures summed up by state and code: the ledger has complete sums at any time. */
  async #checkSums(): Promise<void> {
    const sums = await this.#ledger.failureSums(this.id);
    const kept = new Map<string, number>();
    for (const { state, code, contacts } of this.model.failures.values()) {
      kept.set(`${state} ${code}`, (kept.get(`${state} ${code}`) ?? 0) + contacts.length);
    }
    deepStrictEqual(
      new Map(sums.map(({ state, code, contacts }) => [`${state} ${code}`, contacts])),
      kept,
    );
  }

  /** The contacts themselves: what is kept, and that the rest is gone. */
  async #checkContacts(): Promise<void> {
    const { client } = this.#redis;
    const { record, payload, sizes, inflight, failures, groups, chunks } = this.#keys.batch(
      this.id,
    );
    const keys = [record, chunks, payload, sizes, inflight, failures, groups];
    const [stored, holders, batch, ttls] = await Promise.all([
      client.hgetall(payload),
      client.hgetall(inflight),
      this.#ledger.read(this.id),
      Promise.all(keys.map((key) => client.pttl(key))),
    ]);
    const kept = new Map<string, string>();
    for (const [at, { contacts }] of this.model.chunks.entries()) {
      if (contacts.length > 0) kept.set(`${at}`, contacts.join(' '));
    }
    const wanted = new Map<string, string>();
    for (const [name, { state, code, contacts }] of this.model.failures) {
      kept.set(name, contacts.join(' '));
      wanted.set(name, `${state} ${code} ${contacts.length}`);
    }
    deepStrictEqual({ ...stored }, Object.fromEntries(kept));
    const found = new Map<string, string>();
    for await (const { name, state, code, size } of this.#ledger.failures(this.id)) {
      found.set(name, `${state} ${code} ${size}`);
    }
    deepStrictEqual(found, wanted);
    const held = this.model.chunks.flatMap(({ holder }, at) =>
      holder === undefined ? [] : [[`${at}`, holder]],
    );
    deepStrictEqual({ ...holders }, Object.fromEntries(held));
    const ends = batch?.finishedAt !== 0;
    for (const [index, key] of keys.entries()) {
      const ttl = ttls[index] ?? -2;
      if (ttl !== -2) deepStrictEqual({ key, ends: ttl > 0 }, { key, ends });
    }
  }

  async #claim(chunk: number, nonce: string, owned: boolean): Promise<void> {
    const lock = { key: `${this.#keys.bullPrefix}:lock`, token: owned ? 'mine' : 'theirs' };
    const repeated = this.model.chunks[chunk]?.holder === nonce;
    const claim = await this.#ledger.claim(this.id, chunk, nonce, lock);
    strictEqual(claim.kind, owned ? this.model.claim(chunk, nonce) : 'lost');
    if (claim.kind !== 'send') return;
    const contacts = decode(claim.payload);
    deepStrictEqual(contacts, this.model.chunks[chunk]?.contacts);
    strictEqual(claim.size, contacts.length);
    strictEqual(claim.root, this.model.chunks[chunk]?.root);
    if (repeated) return;
    const twice = contacts.filter((contact) => this.#open.has(contact));
    if (this.#delivery === 'at-most-once') deepStrictEqual(twice, []);
    const sent = contacts.map((contact) => this.#open.get(contact) ?? 0);
    strictEqual(claim.possiblySent, Math.max(...sent));
    this.twice += twice.length;
    for (const [at, contact] of contacts.entries()) this.#open.set(contact, 1 + (sent[at] ?? 0));
    this.#attempts.push({ chunk, nonce, contacts, twice });
  }

  async #settle({ attempt: at, ending }: Extract<Move, { move: 'settle' }>): Promise<void> {
    // The newest attempts come up more often than those of long ago.
    const attempt = this.#attempts[Math.max(0, this.#attempts.length - 1 - at)];
    if (attempt === undefined) return;
    const { chunk, nonce, contacts } = attempt;
    const settle = () => this.#ledger.settle(this.id, chunk, nonce, ending);
    const answer = await settle();
    strictEqual(answer, this.model.settle(chunk, nonce, ending));
    // The second one is a repetition of the command.
    strictEqual(await settle(), 'known');
    if (answer !== 'settled' || ending.kind === 'accepted') return;
    const mayBeTaken = ending.kind === 'back' ? ending.possiblySent : ending.state === 'unknown';
    if (!mayBeTaken) this.#notTaken(attempt, contacts);
  }

  async #halve({ attempt: at, cut }: Extract<Move, { move: 'halve' }>): Promise<void> {
    const attempt = this.#attempts[Math.max(0, this.#attempts.length - 1 - at)];
    if (attempt === undefined || attempt.contacts.length < 2) return;
    const { chunk, nonce, contacts } = attempt;
    const first = 1 + (cut % (contacts.length - 1));
    const payloads = [encode(contacts.slice(0, first)), encode(contacts.slice(first))] as const;
    const halve = () => this.#ledger.halve(this.id, chunk, nonce, first, payloads);
    const answer = await halve();
    strictEqual(answer, this.model.halve(chunk, nonce, first));
    // The second one is a repetition of the command.
    strictEqual(await halve(), 'known');
    if (answer === 'halved') this.#notTaken(attempt, contacts);
  }

  /** An attempt at them has ended, and the service took none of them. */
  #notTaken({ twice }: Attempt, contacts: readonly string[]): void {
    for (const contact of contacts) {
      if (twice.includes(contact)) this.twice -= 1;
      const others = (this.#open.get(contact) ?? 1) - 1;
      if (others > 0) this.#open.set(contact, others);
      else this.#open.delete(contact);
    }
  }

  async #set(field: string): Promise<void> {
    await this.#redis.client.hset(this.#keys.batch(this.id).record, field, 1);
  }
}
