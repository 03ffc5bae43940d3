import { describe, expect, it } from 'vitest';
import { heldName, type HoldKind } from '../../../src/contracts/hold.ts';
import {
  liftManualHold,
  placeManualHold,
  readHold,
  readTemplateHolds,
} from '../../../src/fleet/hold/holds.ts';
import { hintChannel } from '../../../src/redis/hints.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import { until } from '../../support/wait.ts';
import { hasGates, SETTINGS, type GateProcess } from './support/gates.ts';

const CODE = { hold: 'unreachable', code: 'SERVICE_UNREACHABLE' } as const;

/** Until a process may probe that leaves the probe to others first. */
const enters = async ({ gate }: GateProcess) => {
  const passage = await gate.enter('T', false);
  return passage === undefined || 'putOffMs' in passage ? undefined : passage;
};

const { redis, process, freshKeys, untilDue } = hasGates();
const held = (keys: Keys) => readHold(redis.client, keys);

describe('HoldGate', () => {
  it('a hold closes every gate of the fleet and stops BullMQ from fetching', async () => {
    const keys = freshKeys();
    const [one, other] = [await process(keys), await process(keys)];
    await one.gate.place('credit', 'HTTP_402', 5_000);
    await until(() => other.moves.length > 0, { what: 'the hint' });
    expect(other.moves).toEqual([{ kind: 'held', hold: 'credit' }]);
    expect(await enters(one)).toBeUndefined();
    expect(await enters(other)).toBeUndefined();
    expect(Number(await redis.client.get(keys.limiter))).toBe(Number.MAX_SAFE_INTEGER);
    expect(await held(keys)).toMatchObject({ kind: 'credit', code: 'HTTP_402', failedProbes: 0 });
  });

  it('a manual hold closes every gate at once, and only a person lifts it', async () => {
    const keys = freshKeys();
    const one = await process(keys);
    expect(await placeManualHold(redis.client, keys, 'wrong template')).toBe(true);
    await until(() => one.moves.length > 0, { what: 'the hint' });
    // In another database of the server, the same account is another one.
    const inStaging = redis.client.duplicate({ db: 1, lazyConnect: true });
    expect(hintChannel(inStaging, 'x')).not.toBe(hintChannel(redis.client, 'x'));
    await one.gate.place('credit', 'HTTP_402');
    expect(await held(keys)).toMatchObject({ kind: 'manual' });
    expect(await enters(one)).toBeUndefined();
    await liftManualHold(redis.client, keys);
    await until(async () => (await enters(one)) !== undefined, { what: 'the end' });
  });

  it('a hint of what is not in Redis moves nothing', async () => {
    const keys = freshKeys();
    const one = await process(keys);
    await placeManualHold(redis.client, keys, 'wrong template');
    await until(() => one.moves.length > 0, { what: 'the hint' });
    for (const text of ['lifted', '', 'credit', '?']) {
      await redis.client.publish(hintChannel(redis.client, keys.holdHints), text);
    }
    await placeManualHold(redis.client, keys, 'later on the same channel', 'U');
    await until(() => one.gate.isTemplateHeld('U'), { what: 'the last hint' });
    expect(one.moves).toEqual([{ kind: 'held', hold: 'manual' }]);
  });

  it('the next probe only moves further away, and Retry-After is bounded', async () => {
    const keys = freshKeys();
    const { gate } = await process(keys);
    await gate.place('throttled', 'HTTP_429', 30_000);
    const first = await held(keys);
    await gate.place('throttled', 'HTTP_429', 1_000);
    expect(await held(keys)).toEqual(first);
    expect(await redis.client.pttl(keys.limiter)).toBeGreaterThan(29_000);
    await gate.place('throttled', 'HTTP_429', 1e12);
    const rest = (await held(keys))?.nextProbeAt ?? 0;
    expect(rest - (first?.since ?? 0)).toBeLessThan(SETTINGS.retryAfterMaxMs + 5_000);
  });

  it('when a probe is due exactly one job probes', async () => {
    const keys = freshKeys();
    const [one, other] = [await process(keys), await process(keys)];
    await one.gate.place('credit', 'HTTP_402');
    await until(() => other.moves.length > 0, { what: 'the hint' });
    await untilDue(keys);
    const passages = await Promise.all(Array.from({ length: 20 }, () => enters(other)));
    expect(passages.filter((passage) => passage !== undefined)).toHaveLength(1);
  });

  it.each<[HoldKind, ...('accepted' | 'rejected')[]]>([
    ['credit', 'accepted'],
    // The second one is probed at once after the first.
    ['failing', 'accepted', 'accepted'],
    ['unreachable', 'rejected'],
    ['throttled', 'rejected'],
    ['address', 'rejected'],
    ['token-unavailable', 'rejected'],
  ])('%s is lifted in every process by a probe that is %s', async (kind, ...answers) => {
    const keys = freshKeys();
    const [one, other] = [await process(keys), await process(keys)];
    await one.gate.place(kind, 'CODE');
    await until(() => other.moves.length > 0, { what: 'the hint' });
    await untilDue(keys);
    for (const how of answers) {
      expect(await held(keys)).toMatchObject({ kind });
      await other.gate.answered(await other.open(), how);
    }
    expect(await held(keys)).toBeUndefined();
    expect(await redis.client.exists(keys.limiter)).toBe(0);
    await until(() => one.moves.at(-1)?.kind === 'lifted', { what: 'the hint' });
    expect((await one.open()).probes).toBeUndefined();
  });

  it('a process with another key pair probes a hold for refused keys at once, before those that were refused', async () => {
    const keys = freshKeys();
    const [refused, other] = [await process(keys), await process(keys)];
    await (await process(keys)).gate.place('credentials', 'INVALID_ACCESS_KEY', 30_000);
    await refused.gate.startProbing(true);
    await until(() => refused.moves.length === 1, { what: 'the hint' });
    await other.gate.startProbing(false);
    // Hints come in order.
    await placeManualHold(redis.client, keys, 'marks the last hint', 'U');
    await until(() => refused.gate.isTemplateHeld('U'), { what: 'the last hint' });
    const [, first] = await Promise.all([enters(refused), enters(other)]);
    expect(first?.probes).toMatchObject({ kind: 'credentials', round: 1 });
  });

  it('a probe of an earlier hold does not lift the present one', async () => {
    const keys = freshKeys();
    const one = await process(keys);
    await one.gate.place('credit', 'HTTP_402');
    await untilDue(keys);
    const probe = await one.open();
    await liftManualHold(redis.client, keys);
    await one.gate.place('credit', 'HTTP_402');
    await one.gate.answered(probe, 'accepted');
    expect(await held(keys)).toMatchObject({ kind: 'credit' });
  });
});

describe('a process that is alone in trouble', () => {
  /** One process places a hold, and another one lifts it. */
  async function afterHold() {
    const keys = freshKeys();
    const [bad, good] = [await process(keys), await process(keys)];
    await bad.gate.place('unreachable', 'SERVICE_UNREACHABLE');
    await until(() => good.moves.length > 0, { what: 'the hint' });
    await untilDue(keys);
    await good.gate.answered(await good.open(), 'accepted');
    await until(() => bad.moves.at(-1)?.kind === 'lifted', { what: 'the hint' });
    return { keys, bad, good };
  }

  it('steps aside for a time that doubles, holds nobody, and goes on after an acceptance', async () => {
    const { keys, bad, good } = await afterHold();
    const { hold, code } = CODE;
    for (const forMs of [400, 800]) {
      expect(await bad.open()).toEqual({});
      // Two attempts that end at the same time.
      await Promise.all([bad.gate.place(hold, code), bad.gate.place(hold, code)]);
      expect(bad.asides.at(-1)).toEqual({ ...CODE, forMs });
      expect(bad.gate.isAside).toBe(true);
      expect(await held(keys)).toBeUndefined();
      expect(await good.open()).toEqual({});
      await until(() => !bad.gate.isAside, { what: 'its return' });
    }
    await bad.gate.answered(await bad.open(), 'accepted');
    await bad.gate.place(hold, code);
    expect(await held(keys)).toMatchObject({ kind: hold });
  });

  it('one that was never accepted, while others are, holds nobody', async () => {
    const keys = freshKeys();
    const newcomer = await process(keys, true, true);
    await newcomer.gate.place('credentials', 'INVALID_ACCESS_KEY');
    expect(await held(keys)).toBeUndefined();
    expect(newcomer.asides).toEqual([
      { hold: 'credentials', code: 'INVALID_ACCESS_KEY', forMs: 400 },
    ]);
  });

  it('one that lifted its own hold places another one', async () => {
    const keys = freshKeys();
    const one = await process(keys);
    await one.gate.place('unreachable', 'SERVICE_UNREACHABLE');
    await untilDue(keys);
    await one.gate.answered(await one.open(), 'accepted');
    await one.gate.place('unreachable', 'SERVICE_UNREACHABLE');
    expect(await held(keys)).toMatchObject({ kind: 'unreachable' });
  });
});

describe('a held template', () => {
  const putOff = async ({ gate }: GateProcess, wasRefused = false) => {
    const entered = await gate.enter('T', wasRefused);
    return entered !== undefined && 'putOffMs' in entered ? entered.putOffMs : undefined;
  };

  it('puts off its own jobs, in every process, and no other one', async () => {
    const keys = freshKeys();
    const [one, other] = [await process(keys), await process(keys)];
    await one.gate.holdTemplate('T', 'template', 'HTTP_404');
    await until(async () => (await putOff(other)) !== undefined, { what: 'the hint' });
    expect(await putOff(one)).toBeLessThan(1_000);
    expect(await one.open('OTHER')).toEqual({});
    expect(await other.open('OTHER')).toEqual({});
  });

  it('is probed by one, then by two, then by four; what was refused comes after what was not', async () => {
    const keys = freshKeys();
    const one = await process(keys);
    await one.gate.holdTemplate('T', 'template', 'HTTP_404');
    for (const probes of [1, 2, 4]) {
      const due = async () => (await one.gate.enter('T', false)) as object;
      await until(async () => 'probesTemplate' in (await due()), { what: 'the round' });
      const more = await Promise.all(Array.from({ length: 10 }, due));
      expect(more.filter((entered) => 'probesTemplate' in entered)).toHaveLength(probes - 1);
    }
    expect(await putOff(one, true)).toBeGreaterThan((await putOff(one)) ?? Infinity);
  });

  it('is held for the senders that were refused; by a person for all of them', async () => {
    const keys = freshKeys();
    const one = await process(keys);
    const [own, foreign] = [{}, { senderKey: 'foreign' }].map((notice) => heldName('T', notice));
    const isOpen = async (name = '') =>
      !('putOffMs' in ((await one.gate.enter(name, false)) ?? {}));
    await one.gate.holdTemplate(foreign ?? '', 'template', 'HTTP_403');
    expect([await isOpen(own), await isOpen(foreign)]).toEqual([true, false]);
    expect(await placeManualHold(redis.client, keys, 'wrong text', 'T')).toBe(true);
    await until(async () => !(await isOpen(own)), { what: 'the hint' });
    expect(await isOpen(foreign)).toBe(false);
    expect((await readTemplateHolds(redis.client, keys)).map(({ template }) => template)).toEqual([
      'T',
      'T',
    ]);
    expect(await liftManualHold(redis.client, keys, 'credit', 'T')).not.toBe('credit');
    expect(await readTemplateHolds(redis.client, keys)).toHaveLength(2);
    expect(await liftManualHold(redis.client, keys, 'manual', 'T')).toBe('manual');
    expect(await readTemplateHolds(redis.client, keys)).toEqual([]);
  });

  it('a record that cannot be read holds nothing', async () => {
    const keys = freshKeys();
    await redis.client.hset(keys.hold, 'template:T', '{broken', 'template:U', '[]');
    const one = await process(keys);
    expect(await one.open('T')).toEqual({});
    expect(await one.open('U')).toEqual({});
  });
});
