import { expect, it, onTestFinished } from 'vitest';
import { NO_SEALING } from '../../src/payload/seal.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { Hints } from '../../src/redis/hints.ts';
import { DoNotSendList } from '../../src/suppression/do-not-send.ts';
import { SendCheck } from '../../src/suppression/send-check.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const redis = testRedis();

function world(user: { username?: string; password?: string } = {}) {
  const { keys } = redis.account();
  const settings = { url: redis.url, sentinels: [], connectTimeoutMs: 1_000, ...user };
  const ear = connectRedis(settings, 'subscriber', () => {});
  onTestFinished(() => ear.disconnect());
  const list = new DoNotSendList(redis.client, keys, NO_SEALING);
  const check = new SendCheck(list, redis.client, new Hints(ear), keys, () => {});
  onTestFinished(() => check.stop());
  check.start();
  const knownToBeEmpty = () => until(() => check.isEmpty, { what: 'that it is known to be empty' });
  return { keys, ear, check, knownToBeEmpty };
}

it('the list counts as empty no longer once the connection of hints is lost', async () => {
  const { ear, knownToBeEmpty, check } = world();
  await knownToBeEmpty();
  ear.disconnect();
  await until(() => ear.status === 'end', { what: 'the end of the connection' });
  expect(check.isEmpty).toBe(false);
  expect(await check.hits(['01012345678'])).toEqual(new Set());
  expect(check.isEmpty).toBe(false);
});

it('the list counts as empty for two seconds, also where no hint is missing', async () => {
  const { knownToBeEmpty, check } = world();
  await knownToBeEmpty();
  await until(() => !check.isEmpty, { what: 'the end of what is known', deadlineMs: 3_000 });
  await check.hits([]);
  expect(check.isEmpty).toBe(true);
});

it('the list does not count as empty where hints are refused', async () => {
  const username = `deaf-${redis.prefix}`;
  await redis.client.call('ACL', 'SETUSER', username, 'on', '>x', '+@all', '~*', 'resetchannels');
  onTestFinished(async () => void (await redis.client.call('ACL', 'DELUSER', username)));
  const { ear, check } = world({ username, password: 'x' });
  await until(() => ear.status === 'ready', { what: 'the connection' });
  await expect(ear.subscribe('any')).rejects.toThrow('NOPERM');
  expect(await check.hits(['01012345678'])).toEqual(new Set());
  expect(check.isEmpty).toBe(false);
});
