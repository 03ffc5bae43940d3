import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  localProgram,
  startRedisServer,
  type RedisServer,
} from '../../scripts/redis/redis-server.ts';
import type { IssuedToken } from '../../src/contracts/token.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import { SharedToken } from '../../src/token/shared-token.ts';
import { readTokenStatus } from '../../src/token/token-status.ts';
import { until } from '../support/wait.ts';
import { NO_HINTS, PAIR, SECRET, SETTINGS } from './support/world.ts';
import { readRecord } from './support/write-state.ts';

// A server to kill and freeze; where Redis comes from a container there is no program to start.
describe.skipIf(localProgram() === undefined)('Redis away', () => {
  const keys = keysOf('away', 'default').token(PAIR);
  let server: RedisServer;
  let client: Redis;
  let shared: SharedToken;
  let asked: number;
  let issue: () => Promise<IssuedToken>;

  beforeEach(async () => {
    server = await startRedisServer();
    client = new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
    client.on('error', () => undefined);
    asked = 0;
    issue = () => Promise.resolve({ value: `value-${asked}` });
    shared = new SharedToken({
      redis: client,
      hints: NO_HINTS,
      keys,
      seal: new TokenSeal(SECRET, PAIR),
      issue: () => {
        asked += 1;
        return issue();
      },
      settings: { ...SETTINGS, issueDeadlineMs: 500 },
      issuer: 'host:1',
    });
    shared.start();
  });
  afterEach(async () => {
    await shared.stop();
    client.disconnect();
    await server.close();
  });

  it('uses the copy; fails in bounded time for another token; recovers when Redis is back', async () => {
    const token = await shared.get();
    await server.kill('SIGKILL');
    await expect(shared.get()).resolves.toEqual(token);
    const startedAt = performance.now();
    await expect(shared.renew(token, { status: 401 })).rejects.toMatchObject({
      code: 'TOKEN_UNAVAILABLE',
    });
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    expect(asked).toBe(1);

    await server.restart();
    const renew = () => shared.renew(token, { status: 401 }).catch(() => undefined);
    const renewed = await until(renew, { what: 'a token after the restart' });
    expect(renewed.value).toBe('value-2');
    expect(asked).toBe(2);
  });

  it('releases a lock that was taken for a caller that had left', async () => {
    await client.ping();
    await server.kill('SIGSTOP');
    await expect(shared.get()).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    await server.kill('SIGCONT');
    // The release follows the acquire on the same connection.
    await until(async () => (await readRecord(client, keys)).fence === 1, {
      what: 'the late acquire',
    });
    await until(async () => (await readRecord(client, keys)).lock.nonce === undefined, {
      what: 'its release, long before its ttl',
      deadlineMs: SETTINGS.lockTtlMs / 2,
    });
    await expect(shared.get()).resolves.toMatchObject({ value: 'value-1' });
    expect(asked).toBe(1);
  });

  it('stores a token that was issued while Redis was unavailable', async () => {
    issue = async () => {
      await server.kill('SIGKILL');
      return { value: 'issued-meanwhile' };
    };
    const got = shared.get();
    await until(() => asked === 1, { what: 'the issuance' });
    await server.restart();
    await expect(got).resolves.toMatchObject({ value: 'issued-meanwhile' });
    expect((await readTokenStatus(client, keys)).token?.id).toBe((await got).id);
    expect(asked).toBe(1);
  });

  it('refuses locally when the issuance and Redis fail, and asks again when both are back', async () => {
    issue = async () => {
      await server.kill('SIGKILL');
      throw new Error('the service is away too');
    };
    await expect(shared.get()).rejects.toMatchObject({ hold: 'token-unavailable' });
    issue = () => Promise.resolve({ value: 'back' });
    await server.restart();
    const got = await until(() => shared.get().catch(() => undefined), { what: 'a token' });
    expect(got.value).toBe('back');
  });
});
