import { expect, it } from 'vitest';
import { findContact } from '../../src/index.ts';
import { run } from '../cli/support/run.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { endWaiting } from './support/failed-notices.ts';
import { parkNotice } from './support/parked-notice.ts';

const redis = testRedis();
const FIND_KEY = '7'.repeat(64);
const BEFORE = { possiblySent: 2, traceIds: ['trace-0', 'trace-1'] };

/** An unknown notice that was possibly sent twice. */
async function parked() {
  const notice = await parkNotice(redis, {}, undefined, FIND_KEY, BEFORE);
  const { id, prefix } = notice;
  const json = async (...args: readonly string[]): Promise<unknown> => {
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
    return JSON.parse((await run([...args, '--json'], env)).stdout) as unknown;
  };
  const find = async () => {
    const options = { redis: connectionAs('ops', redis.url), prefix, findKey: FIND_KEY };
    return (await findContact('01000000001', options)).notices;
  };
  return { ...notice, json, find, show: () => json('show', id) };
}

/** The same, sent again. */
async function sentAgain() {
  const notice = await parked();
  const { id, json } = notice;
  expect(await json('decide', id, '--as', 'resend', '--state', 'unknown', '--yes')).toMatchObject({
    done: 1,
  });
  return notice;
}

it('a notice that is sent again keeps what was possibly sent before, with its trace ids', async () => {
  const { id, keys, json, find, show } = await sentAgain();
  expect(await show()).toMatchObject({ state: 'pending', ...BEFORE });
  expect(await find()).toMatchObject([{ states: ['pending'], possiblySent: 2 }]);
  const after = { possiblySent: 3, traceIds: [...BEFORE.traceIds, 'trace-3'] };
  await endWaiting(redis.client, keys, id, { state: 'unknown', code: 'ECONNRESET', ...after });
  expect(await json('failures', '--state', 'unknown')).toMatchObject({ notices: [after] });
  expect(await show()).toMatchObject({ state: 'unknown', ...after });
  expect(await find()).toMatchObject([{ states: ['unknown'], possiblySent: 3 }]);
  expect(await json('decide', id, '--as', 'resend', '--state', 'unknown', '--yes')).toMatchObject({
    done: 1,
  });
  expect(await show()).toMatchObject({ state: 'pending', ...after });
});

it.each([
  ['accepted', 'accepted'],
  ['discard', 'cancelled'],
])('a notice that a person has decided on as %s is shown and found as %s', async (as, state) => {
  const { id, json, find, show } = await parked();
  expect(await json('decide', id, '--as', as, '--yes')).toMatchObject({ done: 1 });
  expect(await show()).toMatchObject({ state, template: 'ONCE', contacts: 1 });
  expect(await find()).toMatchObject([{ states: [state], confirmed: true }]);
});
