import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ASIDE_STEP_MS, MOST_ASIDE } from '../../../src/fleet/hold/hold-scripts.ts';
import { HoldGate } from '../../../src/fleet/hold/hold-gate.ts';
import { OPEN, type Meeting } from '../../../src/fleet/hold/passage.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { QUIET_MS } from '../../../src/fleet/hold/evidence-scripts.ts';
import { redisTime } from '../../../src/redis/server-clock.ts';
import { testRedis } from '../../support/redis.ts';
import { decideMeet, type EvidenceState, type Witness } from './support/decide-meet.ts';
import type { Change } from './support/virtual-redis.ts';

const redis = testRedis();
const keys = keysOf(redis.freshPrefix(), 'default');
const { current } = keys.token('pair');
const SETTINGS = {
  probeMinMs: 1_000,
  probeMaxMs: 4_000,
  retryAfterMaxMs: 60_000,
  probeTtlMs: 5_000,
};
const gateOver = (client: typeof redis.client) =>
  new HoldGate(client, { subscribe: () => () => {} }, keys, current, SETTINGS);
const gate = gateOver(redis.client);

type Client = typeof redis.client;
const withCalls = (calls: object): Client =>
  new Proxy(redis.client, {
    get: (target, name) => (Reflect.get(calls, name) ?? Reflect.get(target, name)) as unknown,
  });

/** A client whose scripts have a mistake. */
function mistaken([part, instead]: Change): Client {
  const noScript = Object.assign(new Error('NOSCRIPT'), { name: 'ReplyError' });
  return withCalls({
    evalsha: () => Promise.reject(noScript),
    eval: (lua: string, ...args: [number, ...string[]]) =>
      redis.client.eval(lua.replace(part, instead), ...args),
  });
}

/** A client that repeats each script. */
function twice(client: Client): Client {
  const repeat =
    (name: 'eval' | 'evalsha') =>
    async (...args: [string, number, ...string[]]) => {
      await client[name](...args).catch(() => {});
      return client[name](...args);
    };
  return withCalls({ eval: repeat('eval'), evalsha: repeat('evalsha') });
}

/** What is stored of a witness, but for the attempt and its verdict. */
function fieldsOf({ refusals, troubles, proof, refused, unknown }: Witness): unknown[] {
  const none = { at: 0, n: 0, token: '' };
  const { at, n, token } = refusals ?? none;
  const other = troubles ?? none;
  return [at, n, token, other.at, other.n, proof, refused ? 1 : 0, unknown ? 1 : 0];
}

/** As the scripts count: whole milliseconds. */
const timeOfRedis = async () => Math.floor(await redisTime(redis.client));

async function write(state: EvidenceState): Promise<void> {
  const {
    proof,
    meetings,
    provenUpTo,
    provenToken,
    askedMs,
    refusedRow,
    unknownRow,
    witness,
    held,
  } = state;
  const now = await timeOfRedis();
  const to = redis.client.multi();
  to.del(keys.evidence, keys.witness, keys.hold, keys.holdProbe, keys.limiter, keys.chunkLimiter);
  const askedAt = askedMs === undefined ? 0 : now - askedMs;
  const counts = { proof, meetings, provenUpTo, provenToken, refusedRow, unknownRow };
  to.hset(keys.evidence, { ...counts, askedAt, hintAt: askedAt });
  if (witness !== undefined) {
    to.hset(keys.witness, 'J', `${fieldsOf(witness).join(' ')} earlier counted`);
  }
  if (held) {
    to.hset(keys.hold, {
      kind: 'credit',
      code: 'C',
      since: now,
      nextProbeAt: now,
      failedProbes: 0,
    });
  }
  await to.exec();
}

const anyHistory = fc.record({
  at: fc.constantFrom(1, 10, 15, 20, 40),
  n: fc.nat(5),
  token: fc.constantFrom('T1', 'T2'),
});
const anyState: fc.Arbitrary<EvidenceState> = fc.record(
  {
    proof: fc.constantFrom(0, 4),
    meetings: fc.constant(20),
    provenUpTo: fc.constantFrom(0, 10, 20),
    provenToken: fc.constantFrom('T1', 'T2'),
    askedMs: fc.constantFrom(0, 20_000),
    refusedRow: fc.nat(4),
    unknownRow: fc.nat(4),
    witness: fc.record(
      {
        refusals: anyHistory,
        troubles: anyHistory,
        proof: fc.constantFrom(0, 3, 4),
        refused: fc.boolean(),
        unknown: fc.boolean(),
      },
      { requiredKeys: ['proof', 'refused', 'unknown'] },
    ),
    held: fc.boolean(),
  },
  {
    requiredKeys: [
      'proof',
      'meetings',
      'provenUpTo',
      'provenToken',
      'refusedRow',
      'unknownRow',
      'held',
    ],
  },
);
const anyMeeting: fc.Arbitrary<Omit<Meeting, 'attempt'>> = fc.record(
  {
    job: fc.constant('J'),
    class: fc.constantFrom('always', 'stated', 'unknown', 'page', 'refusal'),
    hold: fc.constantFrom('credentials', 'throttled'),
    code: fc.constant('CODE'),
    token: fc.constantFrom('T1', ''),
    forMs: fc.constant(3_000),
    ownAfter: fc.constantFrom(0, 1, 5),
  },
  { requiredKeys: ['job', 'class', 'hold', 'code', 'token'] },
);

const verdictOf = ({
  kind,
  disproved,
  first,
}: {
  kind: string;
  disproved?: boolean;
  first?: boolean;
}) => ({
  kind,
  disproved: kind === 'counted' ? disproved : undefined,
  first: kind === 'counted' ? first : undefined,
});

/** It decides as the pure function does, in any state, and the same again when repeated. */
function decidesAlike(on: HoldGate) {
  let attempt = 0;
  return fc.asyncProperty(anyState, anyMeeting, async (state, met) => {
    await write(state);
    const expected = decideMeet(state, met);
    const meeting = { ...met, attempt: `a${++attempt}` };
    const seen = await on.meet(meeting, OPEN);
    expect(verdictOf(seen)).toEqual(verdictOf(expected));
    expect(seen.kind === 'held' && seen.behindMs > 0).toBe(
      expected.kind === 'held' && met.class !== 'always',
    );

    const left = await redis.client.hgetall(keys.evidence);
    expect(Number(left['refusedRow'])).toBe(expected.refusedRow);
    expect(Number(left['unknownRow'])).toBe(expected.unknownRow);
    expect(Number(left['askedAt']) > 0).toBe(expected.asks);
    expect((await redis.client.exists(keys.hold)) === 1).toBe(
      state.held || expected.kind === 'held',
    );
    const witness = await redis.client.hget(keys.witness, 'J');
    expect(witness?.split(' ').slice(0, 8) ?? []).toEqual(
      expected.witness === undefined ? [] : fieldsOf(expected.witness).map(String),
    );

    const again = await on.meet(meeting, OPEN);
    expect(verdictOf(again)).toEqual(verdictOf(expected));
    expect(await redis.client.hget(keys.witness, 'J')).toBe(witness);
    const { refusedRow, unknownRow, meetings } = await redis.client.hgetall(keys.evidence);
    expect([refusedRow, unknownRow]).toEqual([left['refusedRow'], left['unknownRow']]);
    expect(Number(meetings) - Number(left['meetings'])).toBe(met.class === 'always' ? 1 : 0);
  });
}

describe('the meeting script', () => {
  it('decides as the pure function does, in any state, and the same again when repeated', async () => {
    await expect(fc.assert(decidesAlike(gate), { numRuns: 1_500 })).resolves.toBeUndefined();
  }, 60_000);

  it('does not, if a hold needs no second without an acceptance', async () => {
    const change: Change = [`now - askedAt >= ${QUIET_MS}`, 'now - askedAt >= 0'];
    const { failed, counterexample } = await fc.check(decidesAlike(gateOver(mistaken(change))), {
      numRuns: 1_500,
      seed: 12,
    });
    expect(failed).toBe(true);
    expect(counterexample?.[0]).toMatchObject({ askedMs: 0, held: false });
  }, 60_000);
});

/** A hold that a probe is due for. */
async function due(kind: string): Promise<void> {
  await redis.client.del(keys.hold, keys.holdProbe, keys.evidence, keys.witness, keys.limiter);
  await redis.client.hset(keys.hold, {
    kind,
    code: 'C',
    since: 1,
    nextProbeAt: 1,
    failedProbes: 0,
  });
}

const enter = async (job: string, possiblySent = 0) => {
  gate.forget();
  return gate.enter({ job, possiblySent });
};

async function probe(job = 'job') {
  const passage = await enter(job);
  if (passage === undefined || 'asideMs' in passage) throw new Error('no probe');
  return passage;
}

describe('a probe', () => {
  it.each<[string, 'accepted' | 'rejected', boolean]>([
    ['credentials', 'accepted', true],
    ['credentials', 'rejected', false],
    ['credit', 'accepted', true],
    ['credit', 'rejected', false],
    ['failing', 'rejected', false],
    ['unreachable', 'rejected', true],
    ['unreachable', 'accepted', true],
    ['address', 'rejected', true],
    ['throttled', 'rejected', true],
    ['token-contested', 'rejected', true],
  ])('of %s, %s: lifts it %s, otherwise the next one is due at once', async (kind, as, lifts) => {
    await due(kind);
    await (await probe()).answered(as, 'T');
    expect((await redis.client.exists(keys.hold)) === 0).toBe(lifts);
    gate.forget();
    const next = await gate.enter({ job: 'another', possiblySent: 0 });
    expect(next !== undefined && 'probe' in next && next.probe !== undefined).toBe(!lifts);
  });

  it('lifts failing at the third acceptance in a row', async () => {
    await due('failing');
    for (const kept of [1, 1, 0]) {
      await (await probe()).answered('accepted', 'T');
      expect(await redis.client.exists(keys.hold)).toBe(kept);
    }
  });

  it('is left to others by a job that was possibly sent, or met the hold itself', async () => {
    await due('failing');
    await redis.client.hset(keys.witness, 'met', '0 0 0 0 1 T a counted');
    await redis.client.hset(keys.hold, 'nextProbeAt', (await timeOfRedis()) - 100);
    expect(await enter('met')).toHaveProperty('asideMs');
    expect(await enter('sent', 4)).toHaveProperty('asideMs');
    expect((await probe('fresh')).probe).toBeDefined();
  });

  it.each(['credentials', 'address'])(
    'of %s is left to others only by a job that met the hold',
    async (kind) => {
      await due(kind);
      await redis.client.hset(keys.hold, 'nextProbeAt', await timeOfRedis());
      await redis.client.hset(keys.witness, 'met', '0 0 0 1 0 T a counted');
      expect(await enter('met')).toHaveProperty('asideMs');
      expect((await enter('sent', 4)) ?? {}).toHaveProperty('probe');
    },
  );

  it.each([
    ['a refusal or page', '1 0 T a counted'],
    ['an unknown outcome', '0 1 T a counted'],
    ['the hold', '0 0 T a held'],
  ])('is left to others by a job that met %s, unless that was disproven', async (_, met) => {
    await due('credentials');
    await redis.client.hset(keys.hold, 'nextProbeAt', await timeOfRedis());
    await redis.client.hset(keys.witness, { met: `0 0 0 ${met}`, before: `0 1 0 ${met}` });
    expect(await enter('met')).toHaveProperty('asideMs');
    expect((await enter('before')) ?? {}).toHaveProperty('probe');
  });

  it('is made by a job that met the hold once many have left it to others', async () => {
    await due('failing');
    await redis.client.hset(keys.hold, 'nextProbeAt', await timeOfRedis());
    const left = [];
    for (let n = 0; n <= MOST_ASIDE; n++) left.push(await enter(`sent-${n}`, 4));
    const last = left.pop();
    for (const passage of left) expect(passage).toHaveProperty('asideMs');
    expect(last).toHaveProperty('probe');
  });

  it.each([
    ['that time is over', -ASIDE_STEP_MS],
    ['the clock went back', 3_600_000],
  ])('is left to others again once %s', async (_, sinceMs) => {
    await due('failing');
    const now = await timeOfRedis();
    await redis.client.hset(keys.hold, {
      nextProbeAt: now,
      asideSince: now + sinceMs,
      aside: MOST_ASIDE,
    });
    for (let left = 0; left < 2; left++) expect(await enter('sent', 4)).toHaveProperty('asideMs');
  });

  it('is left to others by so many jobs in a time, however soon the next probe comes', async () => {
    await due('failing');
    const startedAt = performance.now();
    let left = 0;
    for (let probes = 0; probes < 10; probes++) {
      await redis.client.hset(keys.hold, 'nextProbeAt', await timeOfRedis());
      let passage = await enter('sent', 4);
      while (passage !== undefined && 'asideMs' in passage) {
        left++;
        passage = await enter('sent', 4);
      }
      if (passage === undefined) throw new Error('no probe');
      await passage.abandoned();
    }
    const times = 1 + Math.floor((performance.now() - startedAt) / ASIDE_STEP_MS);
    expect(left).toBeGreaterThanOrEqual(MOST_ASIDE);
    expect(left).toBeLessThanOrEqual(times * MOST_ASIDE);
  });

  it('of a page moves the newest job that has not met it to the head', async () => {
    await due('address');
    const wait = keys.noticesIn('wait');
    await redis.client.del(wait);
    await redis.client.lpush(wait, 'old', 'older-poison', 'good', 'poison');
    await redis.client.hset(keys.witness, 'poison', '0 0 0 1 0 T a counted');
    const passage = await probe('J');
    const meeting = { job: 'J', attempt: 'x1', class: 'page', hold: 'address' } as const;
    await gate.meet({ ...meeting, code: 'HTML', token: 'T', ownAfter: 5 }, passage);
    expect(await redis.client.lrange(wait, 0, -1)).toEqual([
      'poison',
      'older-poison',
      'old',
      'good',
    ]);
  });

  it('of a page moves notices without and with a priority to the head in turns', async () => {
    const wait = keys.noticesIn('wait');
    const prioritized = keys.noticesIn('prioritized');
    await redis.client.del(wait, prioritized);
    await redis.client.lpush(wait, 'old', 'new');
    const score = (priority: number, count: number) => priority * 2 ** 32 + count;
    await redis.client.zadd(prioritized, score(1, 7), 'poison', score(2_097_151, 4), 'older');
    await redis.client.zadd(prioritized, score(5, 6), 'good', score(5, 5), 'good-old');
    await redis.client.zadd(prioritized, score(9, 8), 'poison-9');
    const poison = { poison: '0 0 0 1 0 T a counted', 'poison-9': '0 0 0 1 0 T a counted' };
    const meeting = { attempt: 'x1', class: 'page', hold: 'address', code: 'HTML' } as const;
    /** A failed probe after this turn, and the notice that was chosen before. */
    const fail = async (job: string, turn: number, next = '') => {
      await due('address');
      await redis.client.hset(keys.hold, { turn, next });
      await redis.client.hset(keys.witness, poison);
      await gate.meet({ ...meeting, job, token: 'T', ownAfter: 5 }, await probe(job));
      const [waits, withPriority] = await Promise.all([
        redis.client.lrange(wait, 0, -1),
        redis.client.zrange(prioritized, '0', '-1'),
      ]);
      return { waits, withPriority };
    };
    expect(await fail('J', 0)).toEqual({
      waits: ['old', 'new'],
      withPriority: ['poison', 'good-old', 'good', 'poison-9', 'older'],
    });
    expect(await fail('K', 1)).toEqual({
      waits: ['old', 'new', 'good'],
      withPriority: ['poison', 'good-old', 'poison-9', 'older'],
    });
    // Another job came before it.
    await redis.client.rpush(wait, 'other');
    expect(await fail('L', 3, 'good')).toEqual({
      waits: ['old', 'new', 'other', 'good'],
      withPriority: ['poison', 'good-old', 'poison-9', 'older'],
    });
  });

  /** The answer to a probe whose script ran twice. */
  async function repeated(change?: Change) {
    await due('credit');
    const over = change === undefined ? redis.client : mistaken(change);
    return gateOver(twice(over)).enter({ job: 'J', possiblySent: 0 });
  }

  it('answers the same when its script is repeated after a lost reply', async () => {
    expect(await repeated()).toHaveProperty('probe');
  });

  it('does not, if it does not look for its own nonce', async () => {
    const change: Change = ["if redis.call('GET', probe) == ARGV[1] then", 'if false then'];
    expect(await repeated(change)).toBeUndefined();
  });
});
