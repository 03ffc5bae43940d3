import { describe, expect, it } from 'vitest';
import type { AlertMemory } from '../../../src/ops/alerts/alert-snapshot.ts';
import { alertEvent, AlertStore, LEASE_MS } from '../../../src/ops/alerts/alert-store.ts';
import { Outbox } from '../../../src/ops/alerts/outbox.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';

const redis = testRedis();

const MEMORY: AlertMemory = {
  lookedAt: 1,
  aloneSince: 0,
  keptSeenAt: 0,
  cursor: '0',
  told: {},
  unknown: { notices: 0, contacts: 0, seenContacts: 0, toldAt: 0 },
};

const DRAFT = { event: 'test', title: 'a test', remedy: 'none', data: {} } as const;
const TO = { alerts: true };
const alert = () => alertEvent(DRAFT, 'notices:default', 1_700_000_000_000);

function stores() {
  const keys = keysOf(redis.freshPrefix(), 'default');
  const outbox = new Outbox(redis.client, keys.alerts);
  return {
    keys,
    outbox,
    one: new AlertStore(redis.client, keys),
    two: new AlertStore(redis.client, keys),
  };
}

/** Adds so many events to the outbox of events. */
async function fill({ events }: ReturnType<typeof keysOf>, count: number): Promise<void> {
  const writes = redis.client.pipeline();
  for (let at = 0; at < count; at++) writes.xadd(events.outbox, '*', 'alert', '{}');
  await writes.exec();
}

describe('the lease', () => {
  it('is of one at a time, who keeps it; another takes it when it is let go of', async () => {
    const { keys, one, two } = stores();
    expect([await one.lead(), await two.lead(), await one.lead()]).toEqual([true, false, true]);
    const ttl = await redis.client.pttl(keys.alerts.lease);
    expect(ttl).toBeGreaterThan(0);
    expect(ttl).toBeLessThanOrEqual(LEASE_MS);
    await two.resign();
    expect(await two.lead()).toBe(false);
    await one.resign();
    expect([await two.lead(), await one.lead()]).toEqual([true, false]);
  });

  it('that lasts longer than anybody sets it, since a clock went back, is taken', async () => {
    const { keys, one, two } = stores();
    await one.lead();
    await redis.client.pexpire(keys.alerts.lease, LEASE_MS * 10);
    expect(await two.lead()).toBe(true);
  });
});

describe('what is told', () => {
  it('is remembered and waits to be posted, in one step, in its order', async () => {
    const { outbox, one, two } = stores();
    expect(await two.memory()).toBeUndefined();
    await one.lead();
    const alerts = [alert(), alert()];
    expect(await one.commit({ ...MEMORY, lookedAt: 7 }, alerts, TO)).toBe(0);
    expect(await two.memory()).toEqual({ ...MEMORY, lookedAt: 7 });
    expect(await outbox.waiting()).toBe(2);
    const first = await outbox.next();
    expect(first).toMatchObject({ id: alerts[0]?.id, body: JSON.stringify(alerts[0]) });
    if (first !== undefined) await outbox.remove(first);
    expect((await outbox.next())?.id).toBe(alerts[1]?.id);
  });

  it('is nothing where another leads by now', async () => {
    const { keys, outbox, one, two } = stores();
    await one.lead();
    await one.commit(MEMORY, [], TO);
    await redis.client.del(keys.alerts.lease);
    await two.lead();
    expect(await one.commit({ ...MEMORY, lookedAt: 99 }, [alert()], TO)).toBeUndefined();
    expect(await two.memory()).toEqual(MEMORY);
    expect(await outbox.waiting()).toBe(0);
  });

  it('waits in a bounded number; how many of the oldest are dropped is answered', async () => {
    const { keys, outbox, one } = stores();
    await one.lead();
    const many = Array.from({ length: 1_005 }, alert);
    expect(await one.commit(MEMORY, many, TO)).toBe(5);
    expect(await outbox.waiting()).toBe(1_000);
    // The outbox of events has room for 1,000 events beside the ends of notices.
    const events = new Outbox(redis.client, keys.events);
    await fill(keys, 11_000);
    const hold = alertEvent(
      { ...DRAFT, event: 'hold.ended' },
      'notices:default',
      1_700_000_000_000,
    );
    expect(await one.commit(MEMORY, [hold, alert()], { events: true })).toBe(2);
    expect(await events.waiting()).toBe(11_000);
    expect((await events.list(2)).map(({ event }) => event)).toEqual(['test', 'hold.ended']);
    expect((await outbox.next())?.id).toBe(many[5]?.id);
  });

  it('of another version is forgotten', async () => {
    const { keys, one } = stores();
    await redis.client.set(keys.alerts.memory, JSON.stringify({ ...MEMORY, v: 2 }));
    expect(await one.memory()).toBeUndefined();
  });

  it('has an id of its own, a time, and the queue', () => {
    const [one, two] = [alert(), alert()];
    expect(one.id).toMatch(/^alert-[\w-]{16}$/);
    expect(one.id).not.toBe(two.id);
    expect(one).toMatchObject({
      version: 1,
      queue: 'notices:default',
      at: '2023-11-14T22:13:20.000Z',
      event: 'test',
    });
  });
});

describe('ends of notices', () => {
  it('are forwarded once, by the leader only, and not while the outbox is full', async () => {
    const { keys, one, two } = stores();
    const outbox = new Outbox(redis.client, keys.events);
    await one.lead();
    expect(await one.forwarded()).toBeUndefined();
    expect(await one.forward(undefined, '1-0', undefined, false)).toBe('done');
    expect(await outbox.waiting()).toBe(0);
    expect(await one.forward('1-0', '2-0', alert(), false)).toBe('done');
    expect(await one.forward('1-0', '2-0', alert(), false)).toBe('lost');
    expect(await two.forward('2-0', '3-0', alert(), false)).toBe('lost');
    expect([await one.forwarded(), await outbox.waiting()]).toEqual(['2-0', 1]);
    await fill(keys, 9_999);
    expect(await one.forward('2-0', '3-0', alert(), false)).toBe('full');
    expect(await one.forwarded()).toBe('2-0');
  });

  it('wait while many events do, unless they fill an event', async () => {
    const { keys, one } = stores();
    await one.lead();
    await fill(keys, 99);
    expect(await one.forward(undefined, '1-0', alert(), false)).toBe('done');
    expect(await one.forward('1-0', '2-0', alert(), false)).toBe('later');
    expect(await one.forwarded()).toBe('1-0');
    expect(await one.forward('1-0', '3-0', alert(), true)).toBe('done');
    expect(await one.forwarded()).toBe('3-0');
  });
});

describe('an outbox', () => {
  it('keeps what was posted, lists it, and posts it again under its id', async () => {
    const { outbox, one } = stores();
    await one.lead();
    const [first, second] = [alert(), alert()];
    await one.commit(MEMORY, [first, second], TO);
    const next = await outbox.next();
    if (next === undefined) throw new Error('nothing waits');
    await outbox.remove(next);
    await outbox.remove(next);
    const state = async () => (await outbox.list(10)).map(({ id, as }) => [id, as]);
    expect(await state()).toEqual([
      [second.id, 'waiting'],
      [first.id, 'posted'],
    ]);
    expect(await outbox.replay(first.id)).toBe(true);
    expect(await state()).toEqual([
      [first.id, 'waiting'],
      [second.id, 'waiting'],
      [first.id, 'posted'],
    ]);
    expect(await outbox.replay('alert-that-is-unknown')).toBe(false);
    expect(await outbox.replay('*')).toBe(false);
  });

  it('finds the oldest of what it keeps', async () => {
    const { outbox, one } = stores();
    await one.lead();
    const many = Array.from({ length: 150 }, alert);
    await one.commit(MEMORY, many, TO);
    for (;;) {
      const next = await outbox.next();
      if (next === undefined) break;
      await outbox.remove(next, 'given up');
    }
    expect(await outbox.replay(many[0]?.id ?? '')).toBe(true);
    expect((await outbox.next())?.body).toBe(JSON.stringify(many[0]));
  });
});
