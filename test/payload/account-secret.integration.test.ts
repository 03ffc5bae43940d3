import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { readAccountSecret } from '../../src/payload/account-secret.ts';
import { sealingOf } from '../../src/payload/seal.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();
const [a, b] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
const open = () => {
  const key = redis.freshPrefix();
  const read = (keys: Parameters<typeof sealingOf>[1]) =>
    readAccountSecret(redis.client, key, sealingOf('a', keys));
  return { key, read };
};

it('is the same for all', async () => {
  const { read } = open();
  const [one, two] = await Promise.all([read({}), read({})]);
  expect(one).toBe(two);
});

it('is not in Redis with a key, and not the one that was there without it', async () => {
  const { key, read } = open();
  const plain = await read({});
  const secret = await read({ payloadKey: a });
  expect(secret).not.toBe(plain);
  expect(Object.values(await redis.client.hgetall(key)).join(' ')).not.toContain(secret);
  expect(await read({ payloadKey: a })).toBe(secret);
});

it('outlasts a change of the key', async () => {
  const { read } = open();
  const secret = await read({ payloadKey: a });
  expect(await read({ payloadKey: b, payloadKeyPrevious: a })).toBe(secret);
  expect(await read({ payloadKey: b })).toBe(secret);
  expect(await read({ payloadKey: a })).toBe(secret);
});
