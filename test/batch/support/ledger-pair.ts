import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import * as fc from 'fast-check';
import type { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { Settlement } from '../../../src/batch/ledger/settlement.ts';
import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import type { TestRedis } from '../../support/redis.ts';
import { LedgerModel, type ModelSettlement } from '../ledger/ledger-model.ts';
import { PLAN, RETENTION_MS } from './batch-bench.ts';

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

/** What an attempt may say; `cut` shares the contacts out among the parts. */
type Ending =
  | 'accepted'
  | 'back'
  | 'unanswered'
  | 'rejected'
  | 'unknown'
  | 'expired'
  | 'parts'
  | 'torn'
  | 'split';

const ENDINGS: readonly Ending[] = [
  'accepted',
  'back',
  'unanswered',
  'rejected',
  'unknown',
  'expired',
  'parts',
  'torn',
  'split',
];

function settlementOf(ending: Ending, contacts: readonly string[], cut: number): ModelSettlement {
  const none = { accepted: [], rest: [], possiblySent: false, split: [], failed: [] };
  switch (ending) {
    case 'accepted':
      return { ...none, accepted: contacts };
    case 'back':
    case 'unanswered':
      return { ...none, rest: contacts, possiblySent: ending === 'unanswered' };
    case 'rejected':
    case 'unknown':
    case 'expired':
      return { ...none, failed: [{ state: ending, contacts }] };
    case 'split': {
      const at = 1 + (cut % contacts.length);
      const rest = contacts.slice(0, at);
      return { ...none, rest, possiblySent: true, split: contacts.slice(at) };
    }
    case 'parts':
    case 'torn': {
      const at = cut % contacts.length;
      const bad = contacts.slice(0, at);
      const failed = bad.length === 0 ? [] : [{ state: 'rejected' as const, contacts: bad }];
      const middle = at + Math.floor((contacts.length - at) / 2);
      const accepted = contacts.slice(at, middle);
      const possiblySent = ending === 'torn';
      return { ...none, accepted, rest: contacts.slice(middle), possiblySent, failed };
    }
  }
}

/** The same for the ledger: a part brings its own contacts, the whole keeps the chunk's. */
function told(said: ModelSettlement, size: number): Settlement {
  const own = (contacts: readonly string[]) =>
    contacts.length === size ? {} : { payload: encode(contacts) };
  return {
    accepted: said.accepted.length,
    ...(said.rest.length === 0
      ? {}
      : { rest: { size: said.rest.length, possiblySent: said.possiblySent, ...own(said.rest) } }),
    ...(said.split.length === 0
      ? {}
      : { split: [{ size: said.split.length, payload: encode(said.split) }] }),
    failed: said.failed.map(({ state, contacts }) => ({
      state,
      size: contacts.length,
      code: state.toUpperCase(),
      message: '',
      ...own(contacts),
    })),
  };
}

const index = fc.nat(5);
const move = <Name extends Move['move']>(
  weight: number,
  name: Name,
  takes: Readonly<Record<string, fc.Arbitrary<unknown>>> = {},
) => ({ weight, arbitrary: fc.record({ move: fc.constant(name), ...takes }) });

/** Any move of a batch; those after which little can happen are rare. */
export const MOVES = fc.oneof(
  move(8, 'store', { size: fc.integer({ min: 1, max: 5 }) }),
  move(2, 'store again', { chunk: index }),
  move(4, 'end import'),
  move(24, 'claim', { chunk: index, owned: fc.nat(9) }),
  move(3, 'claim again', { attempt: index }),
  move(24, 'settle', { attempt: index, ending: fc.constantFrom(...ENDINGS), cut: fc.nat(9) }),
  move(8, 'halve', { attempt: index, cut: fc.nat(9) }),
  move(8, 'control', {
    verb: fc.constantFrom('pause', 'pause', 'resume', 'resume', 'resume', 'cancel'),
  }),
  move(8, 'redrive', {
    failure: index,
    state: fc.constantFrom('rejected', 'unknown', 'expired'),
  }),
  move(1, 'deadline'),
  move(2, 'stall'),
  move(3, 'queue', { limit: fc.integer({ min: 1, max: 3 }) }),
) as fc.Arbitrary<Move>;

/** One move, with what it takes. */
export type Move =
  | { readonly move: 'store'; readonly size: number }
  | { readonly move: 'store again'; readonly chunk: number }
  | { readonly move: 'end import' | 'deadline' | 'stall' }
  | { readonly move: 'claim'; readonly chunk: number; readonly owned: number }
  | { readonly move: 'claim again'; readonly attempt: number }
  | {
      readonly move: 'settle';
      readonly attempt: number;
      readonly ending: Ending;
      readonly cut: number;
    }
  | { readonly move: 'halve'; readonly attempt: number; readonly cut: number }
  | { readonly move: 'control'; readonly verb: 'pause' | 'resume' | 'cancel' }
  | {
      readonly move: 'redrive';
      readonly failure: number;
      readonly state: 'rejected' | 'unknown' | 'expired';
    }
  | { readonly move: 'queue'; readonly limit: number };

/** A batch of the ledger and its model, and what was claimed from it. */
export class Pair {
  readonly id: string;
  readonly model: LedgerModel;
  readonly #redis: TestRedis;
  readonly #ledger: Ledger;
  readonly #keys: Keys;
  readonly #delivery: DeliveryPolicy;
  readonly #attempts: Attempt[] = [];
  /** Contacts that were claimed and may have been accepted, and by how many attempts. */
  readonly #open = new Map<string, number>();
  #twice = 0;
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
        if (move.chunk >= model.stored) return;
        const answer = await ledger.store(id, {
          chunk: move.chunk,
          size: 2,
          rows: 0,
          payload: encode(['x', 'y']),
        });
        strictEqual(answer, model.storeAgain());
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
        const done = model.redrive(name, move.state);
        strictEqual(await ledger.redrive(id, name, move.state), done);
        if (done !== 'redriven') return;
        // Asked for by name: that these may come twice is what the caller wants, and it is counted.
        for (const contact of contacts) this.#open.delete(contact);
        if (move.state === 'unknown') this.#twice += contacts.length;
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
        await ledger.markQueued(id, next);
        return ledger.markQueued(id, next);
      }
    }
  }

  async check(): Promise<void> {
    const { model, id } = this;
    const batch = await this.#ledger.read(id);
    const { total, pending, accepted, rejected, unknown, expired, cancelled } = model.counts();
    strictEqual(pending + accepted + rejected + unknown + expired + cancelled, total);
    strictEqual(batch?.phase, model.phase);
    strictEqual(batch?.queued, model.queued);
    const look = await this.#redis.client.zscore(this.#keys.openBatches, id);
    strictEqual(look !== null, model.isOpen);
    deepStrictEqual(batch?.counts, model.counts());
    // Every handing-out of what may have been taken is counted, and nothing else.
    strictEqual(batch?.counts.possiblySentTwice, this.#twice);
    const states = await this.#ledger.states(id, 0, model.chunks.length + 1);
    deepStrictEqual(states, [...model.chunks.map(({ state }) => state), 'none']);
    await this.#checkSums();
  }

  /** The failures summed up by state: the ledger has complete sums at any time. */
  async #checkSums(): Promise<void> {
    const sums = await this.#ledger.failureSums(this.id);
    for (const state of ['rejected', 'unknown', 'expired'] as const) {
      const own = [...this.model.failures.values()].filter((failure) => failure.state === state);
      const found = sums.filter((sum) => sum.state === state);
      const contacts = found.reduce((all, sum) => all + sum.contacts, 0);
      const parts = found.reduce((all, sum) => all + sum.parts, 0);
      const kept = own.flatMap((failure) => failure.contacts).length;
      deepStrictEqual({ state, contacts, parts }, { state, contacts: kept, parts: own.length });
    }
  }

  /** The contacts themselves, once at the end: what is kept, and that the rest is gone. */
  async checkContacts(): Promise<void> {
    const { record, payload, sizes, inflight, failures, groups, chunks } = this.#keys.batch(
      this.id,
    );
    const kept = new Map<string, string>();
    for (const [at, { contacts }] of this.model.chunks.entries()) {
      if (contacts.length > 0) kept.set(`${at}`, contacts.join(' '));
    }
    const wanted = new Map<string, string>();
    for (const [name, { state, contacts }] of this.model.failures) {
      kept.set(name, contacts.join(' '));
      wanted.set(name, `${state} ${contacts.length}`);
    }
    deepStrictEqual({ ...(await this.#redis.client.hgetall(payload)) }, Object.fromEntries(kept));
    const found = new Map<string, string>();
    for await (const { name, state, size } of this.#ledger.failures(this.id)) {
      found.set(name, `${state} ${size}`);
    }
    deepStrictEqual(found, wanted);
    const held = this.model.chunks.flatMap(({ holder }, at) =>
      holder === undefined ? [] : [[`${at}`, holder]],
    );
    deepStrictEqual({ ...(await this.#redis.client.hgetall(inflight)) }, Object.fromEntries(held));
    const over = (await this.#ledger.read(this.id))?.finishedAt !== 0;
    for (const key of [record, chunks, payload, sizes, inflight, failures, groups]) {
      const ttl = await this.#redis.client.pttl(key);
      if (ttl !== -2) deepStrictEqual({ key, ends: ttl > 0 }, { key, ends: over });
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
    if (repeated) return;
    const twice = contacts.filter((contact) => this.#open.has(contact));
    if (this.#delivery === 'at-most-once') deepStrictEqual(twice, []);
    const sent = contacts.map((contact) => this.#open.get(contact) ?? 0);
    strictEqual(claim.possiblySent, Math.max(...sent));
    this.#twice += twice.length;
    for (const [at, contact] of contacts.entries()) this.#open.set(contact, 1 + (sent[at] ?? 0));
    this.#attempts.push({ chunk, nonce, contacts, twice });
  }

  async #settle({ attempt: at, ending, cut }: Extract<Move, { move: 'settle' }>): Promise<void> {
    // The newest attempts come up more often than those of long ago.
    const attempt = this.#attempts[Math.max(0, this.#attempts.length - 1 - at)];
    if (attempt === undefined) return;
    const { chunk, nonce, contacts } = attempt;
    const result = settlementOf(ending, contacts, cut);
    const answer = await this.#ledger.settle(this.id, chunk, nonce, told(result, contacts.length));
    strictEqual(answer, this.model.settle(chunk, nonce, result));
    if (answer !== 'settled') return;
    this.#notTaken(attempt, [
      ...(result.possiblySent ? [] : result.rest),
      ...result.split,
      ...result.failed.flatMap(({ state, contacts }) => (state === 'unknown' ? [] : contacts)),
    ]);
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
      if (twice.includes(contact)) this.#twice -= 1;
      const others = (this.#open.get(contact) ?? 1) - 1;
      if (others > 0) this.#open.set(contact, others);
      else this.#open.delete(contact);
    }
  }

  async #set(field: string): Promise<void> {
    await this.#redis.client.hset(this.#keys.batch(this.id).record, field, 1);
  }
}
