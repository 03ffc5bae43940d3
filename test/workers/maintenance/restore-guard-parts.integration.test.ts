import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import type { RestoreConfig } from '../../../src/config/config.ts';
import { readEpoch } from '../../../src/fleet/restore/epoch-store.ts';
import { readWorkers } from '../../../src/fleet/heartbeat.ts';
import { liftManualHold, placeManualHold, readHold } from '../../../src/fleet/hold/holds.ts';
import { HoldGate } from '../../../src/fleet/hold/hold-gate.ts';
import { Hints } from '../../../src/redis/hints.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import { UnreadyReasons } from '../../../workers/health/readiness.ts';
import { RestoreGuard } from '../../../workers/maintenance/restore-guard.ts';
import { StateFile } from '../../../workers/maintenance/state-file.ts';
import { holdNextScript } from '../../support/held-script.ts';
import { testRedis } from '../../support/redis.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const SETTINGS: RestoreConfig = { guard: 'hold', toleranceMs: 0, gapMs: 60_000 };
const HEARTBEAT_MS = 60_000;

/**
 * A last heartbeat from before any present server was started. One of ten minutes ago would look like
 * a crash, not like a copy, to tests that run ten minutes after their server was started.
 */
const LONG_AGO = String(Date.UTC(2001, 0, 1));

const HOLD_SETTINGS = {
  holdProbeMinMs: 1_000,
  holdProbeMaxMs: 1_000,
  retryAfterMaxMs: 1_000,
};

describe('the restore guard', () => {
  const redis = testRedis();
  const freshKeys = () => redis.account().keys;

  function worker(
    keys: Keys,
    id: string,
    {
      guard: mode = SETTINGS.guard,
      file,
    }: { guard?: RestoreConfig['guard']; file?: StateFile } = {},
  ) {
    const log: (string | undefined)[] = [];
    const write = (line: string) => log.push((JSON.parse(line) as { event?: string }).event);
    const readiness = new UnreadyReasons();
    const state = { id, host: 'h', pid: 1, version: '0', active: 0, concurrency: 1 };
    const client = redis.connect({ name: id, forWorker: true });
    // It is not started: no hint reaches it.
    const gate = new HoldGate({
      redis: client,
      hints: new Hints(redis.connect({ name: 'hints', forWorker: true })),
      keys,
      id,
      settings: HOLD_SETTINGS,
      now: Date.now,
      othersAccepted: () => Promise.resolve(false),
      onMove: () => {},
      onAside: () => {},
      onTemplateHeld: () => {},
    });
    const guard = new RestoreGuard({
      redis: client,
      keys,
      settings: { ...SETTINGS, guard: mode },
      heartbeat: () => ({
        ...state,
        startedAt: 0,
        loopDelayMs: 0,
        pair: 'pair',
        unready: readiness.reasons(),
      }),
      heartbeatMs: HEARTBEAT_MS,
      file,
      readiness,
      gate,
      log: pino({}, { write }),
      stopping: new AbortController().signal,
    });
    return { client, guard, gate, readiness, log };
  }

  const epochOf = async (keys: Keys) => (await readEpoch(redis.client, keys)).epoch;
  const heldAs = async (keys: Keys) => (await readHold(redis.client, keys))?.kind;

  /** Simulates a copy: the epoch as it was, on a server of another name. */
  async function goBack(keys: Keys, copy: Readonly<Record<string, string>>): Promise<void> {
    await redis.client.del(keys.epoch, keys.hold);
    await redis.client.hset(keys.epoch, copy);
  }

  it.each([
    ['hold', 'held', false],
    ['warn', 'warned', true],
    ['off', undefined, true],
  ] as const)(
    'in the mode %s: whether it sends from a copy is known before a hint of the hold arrives',
    async (mode, verdict, sends) => {
      const keys = freshKeys();
      const { guard, gate, log } = worker(keys, 'a', { guard: mode });
      await guard.start();
      const copy = await redis.client.hgetall(keys.epoch);
      await guard.check();
      expect(await gate.enter('T', false)).toBeDefined();
      await goBack(keys, { ...copy, server: 'abc123' });
      await guard.check();
      expect(await guard.passed()).toBe(true);
      expect((await epochOf(keys))?.event?.verdict).toBe(verdict);
      expect(log).toEqual(verdict === undefined ? [] : ['restored']);
      expect((await gate.enter('T', false)) !== undefined).toBe(sends);
    },
  );

  it('goes on in a Redis that was emptied, and says so', async () => {
    const keys = freshKeys();
    const { guard, log } = worker(keys, 'a');
    await guard.start();
    await redis.client.del(keys.epoch);
    await guard.check();
    expect([log, await guard.passed(), await heldAs(keys)]).toEqual([
      ['redis-emptied'],
      true,
      undefined,
    ]);
  });

  it('the last worker marks a clean shutdown, and stays deregistered when its connection comes back', async () => {
    const keys = freshKeys();
    const [a, b] = [worker(keys, 'a'), worker(keys, 'b')];
    await a.guard.start();
    await b.guard.start();
    await a.guard.deregister();
    expect((await epochOf(keys))?.stopped).toBe(false);
    await b.guard.deregister();
    b.client.emit('ready');
    await b.guard.check();
    expect((await epochOf(keys))?.stopped).toBe(true);
    await redis.client.hset(keys.workers, 'unreadable', `${Date.now()} {`);
    expect(await readWorkers(redis.client, keys)).toEqual([]);
    await worker(keys, 'c').guard.start();
    expect((await epochOf(keys))?.stopped).toBe(false);
  });

  it('a late worker neither restores a lifted hold, nor misses a second copy', async () => {
    const keys = freshKeys();
    const [a, late] = [worker(keys, 'a'), worker(keys, 'late')];
    await a.guard.start();
    await late.guard.start();
    const copy = await redis.client.hgetall(keys.epoch);
    await a.guard.check();
    await late.guard.check();
    await goBack(keys, copy);
    await a.guard.check();
    expect(await liftManualHold(redis.client, keys)).toBe('restored');
    await late.guard.check();
    expect(await heldAs(keys)).toBeUndefined();
    await goBack(keys, copy);
    await late.guard.check();
    expect(await heldAs(keys)).toBe('restored');
    const event = (await epochOf(keys))?.event?.at;
    await a.guard.check();
    expect((await epochOf(keys))?.event?.at).toBe(event);
  });

  it('finds a copy although new workers have counted further than any memory', async () => {
    const keys = freshKeys();
    const witness = worker(keys, 'witness');
    await witness.guard.start();
    const copy = await redis.client.hgetall(keys.epoch);
    await witness.guard.check();
    // The server that is remembered is gone; the present one has taken over the copy.
    await goBack(keys, {
      ...copy,
      id: 'another',
      bornAt: String(Date.now()),
      beats: '500',
      server: 'abc123',
      before: String(copy['id']),
      beforeBornAt: String(copy['bornAt']),
      beforeBeats: '1',
      beforeAt: String(copy['at']),
    });
    await witness.guard.check();
    // The count alone would have vouched for it.
    expect(await heldAs(keys)).toBe('restored');
  });

  it('a worker without memory holds when no worker records anything, replacing any other hold', async () => {
    const keys = freshKeys();
    await worker(keys, 'gone').guard.start();
    await redis.client.hset(keys.epoch, { server: 'abc123', at: LONG_AGO });
    await placeManualHold(redis.client, keys, 'for the backup');
    const newcomer = worker(keys, 'newcomer');
    expect(await newcomer.guard.start()).toBe(true);
    expect((await epochOf(keys))?.event).toMatchObject({ why: 'gap', verdict: 'held' });
    expect(await heldAs(keys)).toBe('restored');
    // A manual hold does not replace it: a person who lifts it must have read its report.
    await placeManualHold(redis.client, keys, 'something else');
    expect(await readHold(redis.client, keys)).toMatchObject({ kind: 'restored', code: 'gap' });
    expect(await redis.client.pttl(keys.limiter)).toBeGreaterThan(86_400_000);
    expect(await redis.client.pttl(keys.chunkLimiter)).toBeGreaterThan(86_400_000);
    // The hold that the person placed before is in force again, and is lifted by itself.
    expect(await liftManualHold(redis.client, keys)).toBe('restored');
    expect(await readHold(redis.client, keys)).toMatchObject({
      kind: 'manual',
      code: 'for the backup',
    });
    expect(await redis.client.pttl(keys.limiter)).toBeGreaterThan(86_400_000);
    expect(await newcomer.gate.enter('T', false)).toBeUndefined();
    expect(await liftManualHold(redis.client, keys)).toBe('manual');
    expect(await readHold(redis.client, keys)).toBeUndefined();
    expect(await redis.client.exists(keys.limiter)).toBe(0);
  });

  it('a connection lost during a heartbeat leaves it unverified', async () => {
    const keys = freshKeys();
    const { client, guard, gate, readiness } = worker(keys, 'a');
    await guard.start();
    const copy = await redis.client.hgetall(keys.epoch);
    const heartbeat = holdNextScript(client);
    const check = guard.check();
    await heartbeat.answered;
    await goBack(keys, copy);
    client.disconnect(true);
    await once(client, 'ready');
    // It answers for the Redis from before the loss.
    heartbeat.letGo();
    await check;
    expect(readiness.reasons()).toMatchObject([{ reason: 'copy-unchecked' }]);
    expect(await guard.passed()).toBe(true);
    expect(await heldAs(keys)).toBe('restored');
    expect(await gate.enter('T', false)).toBeUndefined();
  });
});

describe('the state file', () => {
  const folder = temporaryFolder(afterAll);

  const MEMORY = { id: 'one', bornAt: 1, beats: 2, at: 3 };

  function stateFile(name: string, queue = '{q:default}') {
    const lines: { reason?: string }[] = [];
    const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line) as object) });
    return { file: new StateFile(path.join(folder, name), queue, log), lines };
  }

  it('returns what was written last, for any number of writers', async () => {
    const { file, lines } = stateFile('shared.json');
    expect(await file.read()).toBeUndefined();
    await Promise.all(
      Array.from({ length: 20 }, (_, beats) => file.write({ ...MEMORY, beats: beats + 1 })),
    );
    await file.write({ ...MEMORY, beats: 99 });
    expect(await stateFile('shared.json').file.read()).toEqual({ ...MEMORY, beats: 99 });
    expect(readdirSync(folder)).toEqual(['shared.json']);
    expect(lines).toEqual([]);
  });

  it.each([
    ['not JSON', 'half a li'],
    ['JSON of something else', '[1]'],
    ['an unknown version', '{"v":2}'],
    ['empty', ''],
  ])('that is %s is replaced, with a word about it', async (_name, text) => {
    writeFileSync(path.join(folder, 'broken.json'), text);
    const { file, lines } = stateFile('broken.json');
    expect(await file.read()).toBeUndefined();
    expect(lines).toHaveLength(1);
    await file.write(MEMORY);
    expect(await file.read()).toEqual(MEMORY);
  });

  it('of another queue is not changed', async () => {
    await stateFile('theirs.json', '{other:default}').file.write(MEMORY);
    const before = readFileSync(path.join(folder, 'theirs.json'), 'utf8');
    const { file, lines } = stateFile('theirs.json');
    expect(await file.read()).toBeUndefined();
    await file.write({ ...MEMORY, beats: 50 });
    expect(readFileSync(path.join(folder, 'theirs.json'), 'utf8')).toBe(before);
    expect(lines[0]?.reason).toContain('another queue');
  });

  it('that cannot be written is logged once', async () => {
    mkdirSync(path.join(folder, 'a-folder'));
    const { file, lines } = stateFile('a-folder');
    await file.write(MEMORY);
    await file.write(MEMORY);
    expect(lines).toMatchObject([{ reason: 'EISDIR' }]);
  });
});
