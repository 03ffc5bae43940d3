import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { FailureRecord } from '../../../src/batch/ledger/ledger-reader.ts';
import type { Settlement } from '../../../src/batch/ledger/settlement.ts';
import { keysOf, type Keys } from '../../../src/redis/keys.ts';
import type { TestRedis } from '../../support/redis.ts';
import { PLAN, RETENTION_MS } from './batch-bench.ts';

const ID = 'b';

/** A payload is the names of its contacts. */
const encode = (contacts: readonly string[]) => Buffer.from(contacts.join(' '));
const decode = (payload: Buffer | undefined) => payload?.toString().split(' ') ?? [];

const STATES = ['rejected', 'unknown', 'expired'] as const;
/** What happens, and two numbers that choose what it concerns. */
export const STEPS = fc.tuple(
  fc.constantFrom(
    'store',
    'end import',
    'claim',
    'claim',
    'claim',
    'settle',
    'settle',
    'settle',
    'halve',
    'pause',
    'resume',
    'resume',
    'cancel',
    'redrive',
    'redrive',
    'resolve',
    'resolve',
    'split',
    'take out',
    'take out',
    'still',
    'deadline',
  ),
  fc.nat(20),
  fc.nat(20),
);

/** An attempt that has claimed a chunk. */
interface ClaimedChunk {
  readonly chunk: number;
  readonly nonce: string;
  readonly contacts: readonly string[];
}

/** A batch on which workers, an import and people act in any order. */
export class LedgerWalk {
  readonly #redis: TestRedis;
  readonly #ledger: Ledger;
  readonly #keys: Keys;
  readonly #attempts: ClaimedChunk[] = [];
  #names = 0;
  /** Contacts that are settled without being stored any more, by the state that they count as. */
  readonly #gone = { accepted: 0, cancelled: 0 };

  constructor(redis: TestRedis) {
    this.#redis = redis;
    this.#keys = keysOf(redis.freshPrefix(), 'default');
    this.#ledger = new Ledger(redis.client, this.#keys);
  }

  async start(plan: Partial<typeof PLAN>): Promise<void> {
    await this.#ledger.start(ID, { ...PLAN, chunkSize: 4, ...plan }, 'print', RETENTION_MS);
    await this.#redis.client.set(this.#keys.chunkLock('job'), 'mine');
  }

  async play(move: string, one: number, other: number): Promise<void> {
    const ledger = this.#ledger;
    const { chunks, chunksOfList } = await this.#batch();
    const chunk = chunks === 0 ? 0 : one % chunks;
    switch (move) {
      case 'store': {
        const size = 1 + (one % 5);
        const contacts = Array.from({ length: size }, () => `c${(this.#names += 1)}`);
        await ledger.store(ID, { chunk: chunksOfList, size, rows: 0, payload: encode(contacts) });
        return;
      }
      case 'end import':
        await ledger.endImport(ID, 0, 0);
        return;
      case 'claim': {
        const nonce = `n${(this.#names += 1)}`;
        const lock = { key: this.#keys.chunkLock('job'), token: 'mine' };
        const claim = await ledger.claim(ID, chunk, nonce, lock);
        if (claim.kind !== 'send') return;
        const contacts = decode(claim.payload);
        assert.equal(contacts.length, claim.size);
        this.#attempts.push({ chunk, nonce, contacts });
        return;
      }
      case 'settle': {
        const attempt = this.#attempts[one % this.#attempts.length];
        if (attempt === undefined) return;
        const settlement = settlementOf(attempt.contacts, other);
        // The second one is a repetition of the command.
        const answer = await ledger.settle(ID, attempt.chunk, attempt.nonce, settlement);
        if (answer === 'settled') this.#gone.accepted += settlement.accepted;
        assert.equal(await ledger.settle(ID, attempt.chunk, attempt.nonce, settlement), 'known');
        return;
      }
      case 'halve': {
        const attempt = this.#attempts[one % this.#attempts.length];
        if (attempt === undefined || attempt.contacts.length < 2) return;
        const { chunk, nonce, contacts } = attempt;
        const first = 1 + (other % (contacts.length - 1));
        const payloads = [encode(contacts.slice(0, first)), encode(contacts.slice(first))] as const;
        const halve = () => ledger.halve(ID, chunk, nonce, first, payloads);
        await halve();
        assert.equal(await halve(), 'known');
        return;
      }
      case 'pause':
      case 'resume':
      case 'cancel':
        await ledger.control(ID, move);
        return;
      case 'redrive':
      case 'resolve':
      case 'split':
        return this.#decide(move, one, other);
      case 'take out': {
        const size = await ledger.sizeOf(await this.#batch(), String(chunk));
        const contacts = decode(await ledger.payload(ID, String(chunk)));
        const taken = 1 + (other % size);
        const rest = contacts.slice(taken);
        const [before, state] = [
          await this.#batch(),
          (await ledger.states(ID, chunk, chunk + 1))[0],
        ];
        const answer = await ledger.takeOut(ID, chunk, size, {
          size: taken,
          rest: rest.length === 0 ? undefined : encode(rest),
        });
        if (answer !== 'taken') return;
        assert.equal(before.phase === 'cancelled' || state === 'pending', true);
        this.#gone.cancelled += taken;
        return;
      }
      case 'still':
        await this.#redis.client.hset(this.#keys.batch(ID).record, 'movedAt', 1);
        await ledger.restartStalled(ID, 60_000);
        return;
      case 'deadline':
        if (other % 4 === 0)
          await this.#redis.client.hset(this.#keys.batch(ID).record, 'expiresAt', 1);
        return;
    }
  }

  async #decide(move: 'redrive' | 'resolve' | 'split', one: number, other: number): Promise<void> {
    const ledger = this.#ledger;
    const names = [...(await this.#failures()), ...(await this.#left())].sort((a, b) =>
      a.name < b.name ? -1 : 1,
    );
    const failure = names[one % names.length];
    if (failure === undefined) return;
    const { name, state, size } = failure;
    if (move === 'redrive') {
      await ledger.redrive(ID, name, state);
      return;
    }
    if (move === 'resolve') {
      const as = other % 2 === 0 ? 'accepted' : 'cancelled';
      assert.equal(await ledger.resolve(ID, name, as, state), true);
      this.#gone[as] += size;
      return;
    }
    if (size < 2) return;
    const contacts = decode(await ledger.payload(ID, name));
    const at = 1 + (other % (size - 1));
    const taken = {
      size: at,
      payload: encode(contacts.slice(0, at)),
      rest: encode(contacts.slice(at)),
    };
    assert.notEqual(await ledger.splitFailure(ID, name, size, taken, state), undefined);
  }

  /**
   * Every number is that of what is stored, and every contact that is not settled has a payload.
   *
   * @returns what the states of its contacts add up to, and its total
   */
  async check(): Promise<readonly [sum: number, total: number]> {
    const ledger = this.#ledger;
    const batch = await this.#batch();
    const { counts, phase, chunks } = batch;
    const { total, pending, sending, accepted, rejected, unknown, expired, cancelled } = counts;
    assert.equal(await ledger.unsent(), pending);
    assert.equal(await ledger.unknownContacts(), unknown);
    assert.equal((await ledger.unknownByBatch()).get(ID), unknown > 0 ? unknown : undefined);

    const stored = { pending: 0, 'pending-possibly-sent': 0, sending: 0 };
    const expected = new Set<string>();
    for (const [chunk, state] of (await ledger.states(ID, 0, chunks)).entries()) {
      assert.notEqual(state, 'none');
      if (state === 'none' || state === 'settled') continue;
      const size = await ledger.sizeOf(batch, String(chunk));
      assert.equal(decode(await ledger.payload(ID, String(chunk))).length, size);
      stored[state === 'sending-possibly-sent' ? 'sending' : state] += size;
      expected.add(String(chunk));
    }
    const failed = { rejected: 0, unknown: 0, expired: 0 };
    for (const { name, state, size } of await this.#failures()) {
      assert.equal(decode(await ledger.payload(ID, name)).length, size);
      failed[state] += size;
      expected.add(name);
    }
    const waits = stored.pending + stored['pending-possibly-sent'];
    assert.equal(sending, stored.sending);
    assert.equal(pending, phase === 'cancelled' ? stored.sending : waits + stored.sending);
    const left = phase === 'cancelled' ? stored : { pending: 0, 'pending-possibly-sent': 0 };
    assert.deepEqual(
      { accepted, cancelled, rejected, unknown, expired },
      {
        accepted: this.#gone.accepted,
        cancelled: this.#gone.cancelled + left.pending,
        rejected: failed.rejected,
        unknown: failed.unknown + left['pending-possibly-sent'],
        expired: failed.expired,
      },
    );
    assert.deepEqual(new Set(await ledger.payloadNames(ID)), expected);

    const sums = await ledger.failureSums(ID);
    for (const state of STATES) {
      const some = sums.filter((sum) => sum.state === state);
      assert.equal(
        some.reduce((sum, { contacts }) => sum + contacts, 0),
        failed[state],
      );
    }
    const isOver = batch.finishedAt > 0;
    assert.equal(isOver, phase === 'finished' || (phase === 'cancelled' && pending === 0));
    if (phase === 'sending') assert.ok(pending > 0);
    await this.#checkRetention(isOver);
    return [pending + accepted + rejected + unknown + expired + cancelled, total];
  }

  /** All keys are kept as long as the record. */
  async #checkRetention(isOver: boolean): Promise<void> {
    for (const key of Object.values(this.#keys.batch(ID))) {
      const ms = await this.#redis.client.pttl(key);
      if (ms === -2) continue;
      assert.deepEqual([key, ms > 0], [key, isOver]);
    }
  }

  async #batch() {
    const batch = await this.#ledger.read(ID);
    if (batch === undefined) throw new Error('there is no batch');
    return batch;
  }

  async #failures(): Promise<FailureRecord[]> {
    const failures: FailureRecord[] = [];
    for await (const failure of this.#ledger.failures(ID)) failures.push(failure);
    return failures;
  }

  /** What a cancel left as unknown; it becomes a failure when it is decided on. */
  async #left(): Promise<Pick<FailureRecord, 'name' | 'state' | 'size'>[]> {
    const batch = await this.#batch();
    if (batch.phase !== 'cancelled') return [];
    const states = await this.#ledger.states(ID, 0, batch.chunks);
    const left = [...states.keys()].filter((chunk) => states[chunk] === 'pending-possibly-sent');
    return Promise.all(
      left.map(async (chunk) => {
        const name = String(chunk);
        return { name, state: 'unknown' as const, size: await this.#ledger.sizeOf(batch, name) };
      }),
    );
  }
}

function settlementOf(contacts: readonly string[], draw: number): Settlement {
  const { length } = contacts;
  const at = 1 + (draw % Math.max(1, length - 1));
  const [some, others] = [contacts.slice(0, at), contacts.slice(at)];
  const part = (of: readonly string[]) => ({ size: of.length, payload: encode(of) });
  const whole = { code: `C${draw % 3}`, message: '' };
  switch (draw % 7) {
    case 0:
      return { accepted: length, failed: [] };
    case 1:
      return { accepted: 0, rest: { size: length, possiblySent: draw > 9 }, failed: [] };
    case 2:
    case 3:
      return { accepted: 0, failed: [{ state: 'unknown', size: length, ...whole }] };
    case 4:
      return { accepted: 0, failed: [{ state: 'rejected', size: length, ...whole }] };
    case 5:
      return others.length === 0
        ? { accepted: length, failed: [] }
        : { accepted: others.length, failed: [{ state: 'rejected', ...whole, ...part(some) }] };
    default:
      return others.length === 0
        ? { accepted: length, failed: [] }
        : {
            accepted: 0,
            rest: { ...part(others), possiblySent: draw > 9 },
            failed: [{ state: 'unknown', ...whole, ...part(some) }],
          };
  }
}
