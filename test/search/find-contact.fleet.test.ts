import { describe, expect, it, onTestFinished } from 'vitest';
import { findContact, NoticeQueue } from '../../src/index.ts';
import { statesOfDeleted } from '../../src/search/find-in-queue.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { fleetOn } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs, type Program } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';
import { bullQueue } from '../support/bull-queue.ts';

const redis = testRedis();
const SECRET = '7'.repeat(64);

it.each([
  [false, false, ['accepted', 'rejected', 'cancelled', 'suppressed']],
  [true, false, ['accepted', 'rejected', 'expired', 'cancelled', 'suppressed']],
  [false, true, ['accepted', 'rejected', 'unknown', 'cancelled', 'suppressed']],
  [true, true, ['accepted', 'rejected', 'unknown', 'expired', 'cancelled', 'suppressed']],
])(
  'a single notice of which nothing is kept, deadline %s, too old %s: %j',
  (expires, isOver, states) => {
    expect(statesOfDeleted(expires, isOver)).toEqual(states);
  },
);

/** Options of a search, or of a queue. */
function options(prefix: string, user: Program = 'ops') {
  return { redis: connectionAs(user, redis.url), prefix, findKey: SECRET };
}

describe('findContact', () => {
  it('finds single notices: accepted, rejected, waiting, and what the queue has forgotten', async () => {
    const prefix = redis.freshPrefix();
    await fleetOn(redis, { prefix, emulator: { rejectContacts: ['01000000002'] } });
    const queue = new NoticeQueue(options(prefix, 'application'));
    onTestFinished(() => queue.close());
    const send = (contact: string, more = {}) =>
      queue.send({ templateCode: 'T', contacts: [{ contact }] }, more);
    const accepted = await send('01000000001');
    const rejected = await send('01000000002');
    const waiting = await send('01000000003', { delay: 3_600_000 });
    const of = async (number: string) => (await findContact(number, options(prefix))).notices;
    for (const [number, state] of [
      ['01000000002', 'rejected'],
      ['01000000001', 'accepted'],
    ] as const) {
      const isDone = async () => (await of(number))[0]?.states[0] === state;
      await until(isDone, { what: state, deadlineMs: 20_000 });
    }
    const at = expect.any(Number) as number;
    const found = ({ id: job }: { id: string }, state: string, more = {}) => [
      { job, template: 'T', states: [state], confirmed: true, at, ...more },
    ];
    expect(await of('010-0000-0001')).toEqual(found(accepted, 'accepted'));
    const code = 'INVALID_CONTACT';
    expect(await of('01000000002')).toEqual(found(rejected, 'rejected', { code }));
    expect(await of('01000000003')).toEqual(found(waiting, 'pending'));
    expect(await of('01000000004')).toEqual([]);

    const keys = keysOf(prefix, 'default');
    const board = bullQueue(QUEUE_NAME, redis.client, keys);
    await board.remove(accepted.id);
    const states = ['accepted', 'rejected', 'cancelled', 'suppressed'];
    expect(await of('01000000001')).toEqual([{ job: accepted.id, states, confirmed: false, at }]);
  });

  it('reports what was searched, and contains no number', async () => {
    const prefix = redis.freshPrefix();
    const queue = new NoticeQueue(options(prefix, 'application'));
    onTestFinished(() => queue.close());
    const list = [{ contact: '01012345678' }, { contact: '01012345679' }];
    await queue.import(list, { templateCode: 'T', batchId: 'indexed' });
    const plain = new NoticeQueue({ redis: connectionAs('application', redis.url), prefix });
    onTestFinished(() => plain.close());
    await plain.import(list, { templateCode: 'T', batchId: 'plain', again: true });
    const report = await findContact('01012345678', options(prefix));
    expect(report.contacts).toMatchObject([{ batch: 'indexed', states: ['pending'] }]);
    expect(report.searched).toMatchObject({ batches: 2, contacts: 2, unindexedChunks: 1 });
    expect(JSON.stringify(report)).not.toContain('01012345678');
  });

  it.each([
    ['no key', '01012345678', { findKey: undefined }, 'CONFIG_INVALID'],
    ['a key that is none', '01012345678', { findKey: 'short' }, 'CONFIG_INVALID'],
    ['a number with a letter', '+821012345678x', {}, 'NOTICE_INVALID'],
    ['no number', 'CANARY', {}, 'NOTICE_INVALID'],
  ])('refuses %s, and does not repeat it', async (_, number, more, code) => {
    const prefix = redis.freshPrefix();
    const asked = findContact(number, { ...options(prefix), ...more });
    await expect(asked).rejects.toMatchObject({ code });
    await expect(asked).rejects.not.toThrow(number);
  });
});
