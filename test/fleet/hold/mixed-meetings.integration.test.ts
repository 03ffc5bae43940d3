import { beforeEach, expect, it } from 'vitest';
import {
  proveAccepted,
  THROTTLED_CONTRADICTIONS,
} from '../../../src/fleet/hold/evidence-scripts.ts';
import { HoldGate } from '../../../src/fleet/hold/hold-gate.ts';
import { transitionKeys } from '../../../src/fleet/hold/hold-prelude.ts';
import { OPEN, type Meeting } from '../../../src/fleet/hold/passage.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';

/* What a notice met as all others did says nothing about what it is refused for, and the other way round. */

const redis = testRedis();
const keys = keysOf(redis.freshPrefix(), 'default');
const { current } = keys.token('pair');
const SETTINGS = {
  probeMinMs: 1_000,
  probeMaxMs: 4_000,
  retryAfterMaxMs: 60_000,
  probeTtlMs: 5_000,
};
const gate = new HoldGate(redis.client, { subscribe: () => () => {} }, keys, current, SETTINGS);
const scriptKeys = [...transitionKeys(keys), keys.evidence, keys.witness, current];

beforeEach(async () => {
  await redis.client.del(...scriptKeys);
  await redis.client.hset(current, 'id', 'T');
});

type As = Pick<Meeting, 'class' | 'hold' | 'ownAfter'>;
const THROTTLED: As = { class: 'stated', hold: 'throttled' };
const NO_CREDIT: As = { class: 'stated', hold: 'credit' };
const UNKNOWN: As = { class: 'unknown', hold: 'failing' };
const REFUSED: As = { class: 'refusal', hold: 'credentials', ownAfter: 1 };
const PAGE: As = { class: 'page', hold: 'address', ownAfter: 5 };

let attempts = 0;
async function meet(job: string, as: As, others?: readonly string[]): Promise<string> {
  const attempt = `a${++attempts}`;
  const meeting = { ...as, job, others, attempt, code: 'CODE', token: 'T' };
  return (await gate.meet(meeting, OPEN)).kind;
}

/** Another notice is accepted with the same token: as the probe, where there is a hold. */
async function acceptAnother(): Promise<void> {
  const [meetings] = await redis.client.hmget(keys.evidence, 'meetings');
  if ((await redis.client.exists(keys.hold)) === 0) {
    const args = ['T', keys.evidenceHints, Number(meetings)];
    if (!(await proveAccepted(redis.client, scriptKeys, args))) throw new Error('proved nothing');
    return;
  }
  await redis.client.hset(keys.hold, 'nextProbeAt', 1);
  gate.forget();
  const passage = await gate.enter({ job: 'K', possiblySent: 0 });
  if (passage === undefined || 'asideMs' in passage) throw new Error('no probe');
  await passage.answered('accepted', 'T');
}

async function meetThrice(job: string, as: As, others?: readonly string[]): Promise<void> {
  for (let time = 1; time <= 3; time++) {
    await meet(job, as, others);
    await acceptAnother();
  }
}

it.each<[string, As]>([
  ['402', NO_CREDIT],
  ['429', THROTTLED],
  ['503 with Retry-After', { class: 'stated', hold: 'failing' }],
  ['no connection', { class: 'stated', hold: 'unreachable' }],
  ['unknown outcome', UNKNOWN],
])('a %s before does not make the first refusal the second', async (_, as) => {
  await meet('J', as, as.class === 'stated' ? ['J2'] : []);
  if (as.hold === 'failing') await redis.client.del(keys.hold, keys.limiter, keys.chunkLimiter);
  await acceptAnother();
  expect(await meet('J', REFUSED)).toBe('counted');
  expect(await meet('J2', REFUSED)).toBe('counted');
  await acceptAnother();
  expect(await meet('J', REFUSED)).toBe('own');
  expect(await meet('J2', REFUSED)).toBe('own');
});

it('contradicted 429s do not count toward pages: the sixth page ends the notice', async () => {
  for (let time = 1; time <= THROTTLED_CONTRADICTIONS + 1; time++) {
    const isLast = time > THROTTLED_CONTRADICTIONS;
    expect(await meet('J', THROTTLED, ['J2'])).toBe(isLast ? 'counted' : 'held');
    await acceptAnother();
  }
  for (let time = 1; time <= 5; time++) {
    expect(await meet('J', PAGE)).toBe('counted');
    await acceptAnother();
  }
  expect(await meet('J2', PAGE)).toBe('counted');
  expect(await meet('J', PAGE)).toBe('own');
});

it('contradicted pages do not count toward 429s', async () => {
  await meetThrice('J', PAGE);
  await meetThrice('J', PAGE);
  for (let time = 1; time <= THROTTLED_CONTRADICTIONS; time++) {
    expect(await meet('J', THROTTLED)).toBe('held');
    await acceptAnother();
  }
  expect(await meet('J', THROTTLED)).toBe('counted');
});

it('what all others met in between neither hides a refusal nor starts the count again', async () => {
  expect(await meet('J', REFUSED)).toBe('counted');
  await meetThrice('J', THROTTLED);
  expect(await meet('J', REFUSED)).toBe('own');
});

it('a refusal in between does not start the count of 429s again', async () => {
  await meetThrice('J', THROTTLED);
  expect(await meet('J', REFUSED)).toBe('counted');
  await acceptAnother();
  expect(await meet('J', THROTTLED)).toBe('held');
  await acceptAnother();
  expect(await meet('J', THROTTLED)).toBe('held');
  await acceptAnother();
  expect(await meet('J', THROTTLED)).toBe('counted');
});

it('notices that share a request keep what each was refused for, and have the highest count of 429s', async () => {
  expect(await meet('X', REFUSED)).toBe('counted');
  await meetThrice('Y', THROTTLED);
  expect(await meet('J', THROTTLED, ['X', 'Y', 'Z'])).toBe('held');
  await acceptAnother();
  expect(await meet('Z', THROTTLED)).toBe('held');
  await acceptAnother();
  expect(await meet('Z', THROTTLED)).toBe('counted');
  expect(await meet('X', REFUSED)).toBe('own');
  expect(await meet('Y', REFUSED)).toBe('counted');
});

it('a notice that shares a request stays in the row that it counts in', async () => {
  await meet('X', PAGE);
  await meet('J', THROTTLED, ['X']);
  await meet('X', PAGE);
  expect(await redis.client.hmget(keys.evidence, 'refusedRow')).toEqual(['1']);
});

/** The format of 0.1.0 and of earlier versions: a pattern of Lua, as its scripts have it. */
const EARLIER = /^(\d+) (\d+) (\d+) (\d) (\d) (\S*) (\S*) (\S*)$/;

it('a record of an earlier version counts as a first meeting, in the row that it was in', async () => {
  const counts = { meetings: 1, proof: 1, provenUpTo: 1, provenToken: 'T', refusedRow: 1 };
  await redis.client.hset(keys.evidence, counts);
  await redis.client.hset(keys.witness, 'J', '1 1 5 1 0 T earlier counted');
  expect(await meet('J', REFUSED)).toBe('counted');
  expect(await redis.client.hmget(keys.evidence, 'refusedRow')).toEqual(['1']);
  await acceptAnother();
  expect(await meet('J', REFUSED)).toBe('own');
});

it('an earlier version takes no record of this one for its own', async () => {
  await meet('J', THROTTLED, ['J2']);
  await meet('K', REFUSED);
  for (const text of Object.values(await redis.client.hgetall(keys.witness))) {
    expect(text).not.toMatch(EARLIER);
  }
});

it('a page before does not make the first refusal with a code the second', async () => {
  expect(await meet('J', PAGE)).toBe('counted');
  await acceptAnother();
  expect(await meet('J', REFUSED)).toBe('counted');
  await acceptAnother();
  expect(await meet('J', REFUSED)).toBe('own');
});
