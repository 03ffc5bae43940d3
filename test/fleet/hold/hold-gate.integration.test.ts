import { afterEach, describe, expect, it } from 'vitest';
import type { HoldKind } from '../../../src/contracts/hold.ts';
import { liftManualHold, placeManualHold, readHold } from '../../../src/fleet/hold/current-hold.ts';
import { HoldGate, type HoldMove } from '../../../src/fleet/hold/hold-gate.ts';
import type { Passage } from '../../../src/fleet/hold/passage.ts';
import { hintChannel, Hints } from '../../../src/redis/hints.ts';
import { keysOf, type Keys } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { signal, until } from '../../support/wait.ts';

const SETTINGS = {
  probeMinMs: 200,
  probeMaxMs: 1_000,
  retryAfterMaxMs: 60_000,
  probeTtlMs: 5_000,
};

const JOB = { job: 'job', possiblySent: 0 };
let attempts = 0;

/** Holds the queue for what is stated for every job. */
async function place(
  gate: HoldGate,
  hold: HoldKind,
  code: string,
  passage: Passage,
  forMs?: number,
): Promise<void> {
  const attempt = `attempt-${++attempts}`;
  const meeting = { job: 'job', attempt, class: 'always', hold, code, token: '', forMs } as const;
  await gate.meet(meeting, passage);
}

describe('HoldGate', () => {
  const redis = testRedis();
  const gates: HoldGate[] = [];

  afterEach(() => {
    for (const gate of gates.splice(0)) gate.stop();
  });

  /** A process of the fleet, as far as holds go. */
  async function process(keys: Keys): Promise<{ gate: HoldGate; moves: HoldMove[] }> {
    const moves: HoldMove[] = [];
    const hints = new Hints(redis.connect({ name: 'hints', forWorker: true }));
    const listening = signal();
    hints.subscribe(hintChannel(redis.client, keys.holdHints), (text) => {
      if (text === undefined) listening.resolve();
    });
    const gate = new HoldGate(
      redis.client,
      hints,
      keys,
      keys.token('pair').current,
      SETTINGS,
      (move) => moves.push(move),
    );
    gates.push(gate);
    gate.start();
    await listening.promise;
    expect(await gate.enter(JOB)).toBeDefined();
    return { gate, moves };
  }

  it('believes no hint of the same account in another database of the server', async () => {
    const keys = freshKeys();
    const { moves } = await process(keys);
    const inStaging = redis.client.duplicate({ db: 1 });
    try {
      await placeManualHold(redis.client, keys, 'maintenance');
      await until(() => moves.length === 1, { what: 'the hold' });
      await placeManualHold(inStaging, keys, 'a test');
      await liftManualHold(inStaging, keys);
      await liftManualHold(redis.client, keys);
      await until(() => moves.some(({ kind }) => kind === 'lifted'), {
        what: 'the end of the hold',
      });
      expect(moves).toEqual([{ kind: 'held', hold: 'manual' }, { kind: 'lifted' }]);
    } finally {
      inStaging.disconnect();
    }
  });

  const freshKeys = () => keysOf(redis.freshPrefix(), 'default');

  async function open(gate: HoldGate): Promise<Passage> {
    const passage = await gate.enter(JOB);
    if (passage === undefined || 'asideMs' in passage) throw new Error('the gate is closed');
    return passage;
  }

  const held = (keys: Keys) => readHold(redis.client, keys);

  /** Waits until the next probe is due, by the clock of Redis. */
  async function untilDue(keys: Keys): Promise<void> {
    await until(async () => (await redis.client.pttl(keys.limiter)) < 0, { what: 'the probe' });
  }

  it('lets every attempt pass without asking Redis while there is no hold', async () => {
    const { gate } = await process(freshKeys());
    const before = await evals();
    for (let count = 0; count < 1_000; count++) expect(await gate.enter(JOB)).toBeDefined();
    expect(await evals()).toBe(before);
  });

  async function evals(): Promise<number> {
    const stats = await redis.client.info('commandstats');
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  }

  it('a hold closes every gate of the fleet and stops BullMQ from fetching', async () => {
    const keys = freshKeys();
    const [one, other] = [await process(keys), await process(keys)];
    await place(one.gate, 'credit', 'HTTP_402', await open(one.gate));
    await until(() => other.moves.length > 0, { what: 'the hint' });
    expect(other.moves).toEqual([{ kind: 'held', hold: 'credit' }]);
    expect(await one.gate.enter(JOB)).toBeUndefined();
    expect(await other.gate.enter(JOB)).toBeUndefined();
    expect(Number(await redis.client.get(keys.limiter))).toBe(Number.MAX_SAFE_INTEGER);
    expect(await held(keys)).toMatchObject({ kind: 'credit', code: 'HTTP_402', failedProbes: 0 });
  });

  it('a manual hold closes every gate at once', async () => {
    const keys = freshKeys();
    const { gate, moves } = await process(keys);
    expect(gate.enter(JOB)).not.toBeInstanceOf(Promise);
    expect(await placeManualHold(redis.client, keys, 'wrong template')).toBe(true);
    await until(() => moves.length > 0, { what: 'the hint' });
    expect(moves).toEqual([{ kind: 'held', hold: 'manual' }]);
    expect(await gate.enter(JOB)).toBeUndefined();
  });

  it('the next probe only moves further away', async () => {
    const keys = freshKeys();
    const { gate } = await process(keys);
    const passage = await open(gate);
    await place(gate, 'throttled', 'HTTP_429', passage, 30_000);
    const first = await held(keys);
    await place(gate, 'throttled', 'HTTP_429', passage, 1_000);
    expect(await held(keys)).toEqual(first);
    expect(await redis.client.pttl(keys.limiter)).toBeGreaterThan(29_000);
    await place(gate, 'throttled', 'HTTP_429', passage, 40_000);
    expect((await held(keys))?.nextProbeAt).toBeGreaterThan(first?.nextProbeAt ?? Infinity);
  });

  it('Retry-After is bounded', async () => {
    const keys = freshKeys();
    const { gate } = await process(keys);
    await place(gate, 'throttled', 'HTTP_429', await open(gate), 1e12);
    const hold = await held(keys);
    expect((hold?.nextProbeAt ?? 0) - (hold?.since ?? 0)).toBe(SETTINGS.retryAfterMaxMs);
  });

  it('when a probe is due exactly one job probes', async () => {
    const keys = freshKeys();
    const [one, other] = [await process(keys), await process(keys)];
    await place(one.gate, 'credit', 'HTTP_402', await open(one.gate));
    await until(() => other.moves.length > 0, { what: 'the hint' });
    await untilDue(keys);
    const passages = await Promise.all(
      Array.from(
        { length: 20 },
        async (_, index) => await (index % 2 === 0 ? one : other).gate.enter(JOB),
      ),
    );
    expect(passages.filter((passage) => passage !== undefined)).toHaveLength(1);
  });

  it('a probe that succeeds opens every gate', async () => {
    const keys = freshKeys();
    const [one, other] = [await process(keys), await process(keys)];
    await place(one.gate, 'credit', 'HTTP_402', await open(one.gate));
    await untilDue(keys);
    const probe = await open(one.gate);
    expect(probe.probe).toBeDefined();
    await probe.answered('accepted', '');
    expect(await held(keys)).toBeUndefined();
    expect(await redis.client.exists(keys.limiter)).toBe(0);
    await until(() => other.moves.at(-1)?.kind === 'lifted', { what: 'the hint' });
    expect((await open(other.gate)).probe).toBeUndefined();
  });

  it('failed probes double the interval up to the longest', async () => {
    const keys = freshKeys();
    const { gate } = await process(keys);
    await place(gate, 'credit', 'HTTP_402', await open(gate));
    const distances: number[] = [];
    for (let failed = 1; failed <= 4; failed++) {
      await untilDue(keys);
      const probe = await open(gate);
      const [seconds, micros] = await redis.client.time();
      await (failed % 2 === 0 ? probe.undecided() : place(gate, 'credit', 'HTTP_402', probe));
      const hold = await held(keys);
      expect(hold).toMatchObject({ kind: 'credit', code: 'HTTP_402', failedProbes: failed });
      const now = Number(seconds) * 1_000 + Number(micros) / 1_000;
      distances.push(Math.round(((hold?.nextProbeAt ?? 0) - now) / 100) * 100);
    }
    expect(distances).toEqual([400, 800, 1_000, 1_000]);
  }, 20_000);

  it('an abandoned probe leaves the next one due at once', async () => {
    const keys = freshKeys();
    const { gate } = await process(keys);
    await place(gate, 'credit', 'HTTP_402', await open(gate));
    await untilDue(keys);
    await (await open(gate)).abandoned();
    const again = await open(gate);
    expect(again.probe).toBeDefined();
    expect((await held(keys))?.failedProbes).toBe(0);
  });

  it('an attempt that started before the hold does not lift it', async () => {
    const keys = freshKeys();
    const { gate } = await process(keys);
    const early = await open(gate);
    await place(gate, 'credit', 'HTTP_402', await open(gate));
    await early.answered('accepted', '');
    expect(await held(keys)).toMatchObject({ kind: 'credit' });
  });

  it('a probe whose worker died expires, also after a clock went back', async () => {
    const keys = freshKeys();
    const { gate } = await process(keys);
    await place(gate, 'credit', 'HTTP_402', await open(gate));
    await untilDue(keys);
    await open(gate);
    await redis.client.pexpire(keys.holdProbe, 3_600_000);
    expect(await gate.enter(JOB)).toBeUndefined();
    expect(await redis.client.pttl(keys.holdProbe)).toBeLessThanOrEqual(SETTINGS.probeTtlMs);
  });

  it('another reason replaces the kind and restarts the count', async () => {
    const keys = freshKeys();
    const { gate } = await process(keys);
    const passage = await open(gate);
    await place(gate, 'throttled', 'HTTP_429', passage, 5_000);
    const first = await held(keys);
    await place(gate, 'credit', 'HTTP_402', passage);
    expect(await held(keys)).toMatchObject({
      kind: 'credit' satisfies HoldKind,
      nextProbeAt: first?.nextProbeAt,
      failedProbes: 0,
    });
  });

  it('a hold that was placed while this process got no hints is found at the gate', async () => {
    const keys = freshKeys();
    const deaf = new HoldGate(
      redis.client,
      { subscribe: () => () => {} },
      keys,
      keys.token('pair').current,
      SETTINGS,
    );
    const { gate } = await process(keys);
    await place(gate, 'credit', 'HTTP_402', await open(gate), 5_000);
    expect(await deaf.enter(JOB)).toBeUndefined();
  });

  it('a hint of a hold counts although the answer that there is none is read after it', async () => {
    const keys = freshKeys();
    const { gate } = await process(keys);
    const hints: ((text: string | undefined) => void)[] = [];
    const client = redis.connect();
    const [answered, mayRead] = [signal(), signal()];
    const slow = new Proxy(client, {
      get: (target, name) =>
        name === 'evalsha'
          ? async (...args: Parameters<typeof client.evalsha>) => {
              const answer = await target.evalsha(...args);
              answered.resolve();
              await mayRead.promise;
              return answer;
            }
          : (Reflect.get(target, name) as unknown),
    });
    const subscribe = (_: string, listener: (text: string | undefined) => void) => {
      hints.push(listener);
      return () => {};
    };
    const { current } = keys.token('pair');
    const other = new HoldGate(slow, { subscribe }, keys, current, SETTINGS);
    gates.push(other);
    other.start();

    const asked = other.enter(JOB);
    await answered.promise;
    await place(gate, 'credit', 'HTTP_402', await open(gate), 5_000);
    for (const hint of hints) hint('credit');
    mayRead.resolve();
    expect(await asked).toBeDefined();
    expect(await other.enter(JOB)).toBeUndefined();
  });

  it('its own hold closes the gate of a process that gets no hints', async () => {
    const keys = freshKeys();
    const deaf = new HoldGate(
      redis.client,
      { subscribe: () => () => {} },
      keys,
      keys.token('pair').current,
      SETTINGS,
    );
    const passage = await open(deaf);
    const before = await evals();
    expect(await deaf.enter(JOB)).toBeDefined();
    expect(await evals()).toBe(before);
    await place(deaf, 'credit', 'HTTP_402', passage, 5_000);
    expect(await deaf.enter(JOB)).toBeUndefined();
  });
});
