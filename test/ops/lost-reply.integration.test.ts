import { describe, expect, it, onTestFinished } from 'vitest';
import { redriveFailure, resolveFailure } from '../../src/batch/ledger/scripts/action-scripts.ts';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { allFailed } from '../../src/batch/ledger/settlement.ts';
import { liftManualHold, placeManualHold, readHold } from '../../src/fleet/hold/holds.ts';
import { liftManual } from '../../src/fleet/hold/hold-scripts.ts';
import { changeEnded, changeScript } from '../../src/notices/end-scripts.ts';
import { appendAudit, readAudit } from '../../src/ops/audit.ts';
import { liftHold } from '../../src/ops/operations/hold.ts';
import { decide, DECISIONS, type DecideSelect } from '../../src/ops/decide.ts';
import type { OperationContext } from '../../src/ops/operations/operation.ts';
import { decideOn, unknownNotices, WHO } from '../support/unknown-notices.ts';
import { connectRedis, readyWithin, type RedisClient } from '../../src/redis/connect.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { buildBatch, contacts } from '../batch/support/built-batch.ts';
import { shaOf } from '../chaos/support/script-sha.ts';
import { faultProxyOf, type FaultProxy } from '../support/fault-proxy.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { parkNotice } from './support/parked-notice.ts';

const redis = testRedis();

/** The connection of a command or of the ops server, which loses the reply to a command with this text. */
async function losing(
  when: string,
  role: 'reader' | 'ops' = 'reader',
): Promise<{ client: RedisClient; proxy: FaultProxy }> {
  const proxy = await faultProxyOf(redis.url);
  const settings = {
    ...connectionAs('ops', redis.url, proxy.url),
    sentinels: [],
    connectTimeoutMs: 2_000,
  };
  const client = connectRedis(settings, role, () => {}, 5_000);
  onTestFinished(() => client.disconnect());
  expect(await readyWithin(client, 5_000)).toBe(true);
  await proxy.place({ kind: 'drop-reply', when, times: 1 });
  return { client, proxy };
}

const DONE = { gone: 0, late: 0, complete: true, refused: [] };

/** The steps of a decision on a notice, by a text of their commands. */
const STEPS = [
  { step: 'the change of its entry', when: () => shaOf(changeScript), as: DECISIONS },
  { step: 'the audit entry', when: 'asked the service', as: DECISIONS },
] as const;

describe('the reply to a step of resolving a notice is lost', () => {
  it.each(
    STEPS.flatMap(({ step, when, as }) => as.map((decision) => ({ step, when, as: decision }))),
  )('$step, as $as: resolved once, and recorded', async ({ when, as }) => {
    const parked = await parkNotice(redis);
    const { keys, id } = parked;
    // Otherwise the lost reply is that Redis does not know the script yet.
    await changeEnded(redis.client, keys, { id: 'none', text: '', state: 'unknown' }, {});
    const placed = { what: 'hold', target: 'queue', as: 'placed' } as const;
    await appendAudit({ redis: redis.client, keys }, WHO, placed);
    const { client, proxy } = await losing(typeof when === 'string' ? when : await when());
    const select = { state: 'unknown', ids: [id] } as const;
    const report = await decideOn({ redis: client, keys }, select, { as });
    expect(proxy.struck).toBe(1);
    expect(report).toEqual({ ...DONE, done: 1, contacts: 1 });
    expect(await unknownNotices({ redis: redis.client, keys })).toEqual([]);
    expect(await redis.client.exists(keys.endedIn('unknown'), keys.endedIn('again'))).toBe(0);
    expect(await parked.board.getWaitingCount()).toBe(as === 'resend' ? 1 : 0);
    expect(await readAudit(redis.client, keys, 10)).toMatchObject([
      { ...WHO, as: `${as} unknown`, target: id },
      { what: 'hold' },
    ]);
  });
});

describe('the reply to a step of a manual action is lost', () => {
  it.each(['reader', 'ops'] as const)('lift by %s: answered and recorded', async (role) => {
    const { keys } = redis.account();
    await liftManualHold(redis.client, keys);
    await placeManualHold(redis.client, keys, 'wrong template');
    const { client, proxy } = await losing(await shaOf(liftManual), role);
    const lift = () => liftHold.run({ redis: client, keys } as OperationContext, {}, WHO);
    expect(await lift()).toEqual({ lifted: 'manual' });
    expect(proxy.struck).toBe(1);
    expect(await readHold(redis.client, keys)).toBeUndefined();
    expect(await readAudit(redis.client, keys, 10)).toMatchObject([
      { ...WHO, as: 'lifted manual' },
    ]);
    expect(await lift()).toEqual({ lifted: null });
  });
});

describe('the reply to a step on a batch is lost', () => {
  async function failedBatch(state: 'rejected' | 'unknown') {
    const prefix = redis.freshPrefix();
    const lists = [contacts(10), contacts(10, 10), contacts(10, 20)];
    const built = await buildBatch(redis.client, prefix, 'b', lists);
    await built.ledger.redrive('none', '0', state);
    await built.ledger.resolve('none', '0', 'accepted');
    for (const chunk of [0, 1, 2]) await built.settle(chunk, allFailed(state, 'CODE', ''));
    return { built, keys: keysOf(prefix, 'default') };
  }

  it.each([
    { as: 'resend', state: 'rejected', role: 'ops' },
    { as: 'resend', state: 'unknown', role: 'reader' },
    { as: 'accepted', state: 'unknown', role: 'reader' },
    { as: 'discard', state: 'unknown', role: 'reader' },
  ] as const)('$state as $as by $role: all are counted', async ({ as, state, role }) => {
    const { built, keys } = await failedBatch(state);
    const script = as === 'resend' ? redriveFailure : resolveFailure;
    const { client, proxy } = await losing(await shaOf(script), role);
    const context = { ledger: new Ledger(client, keys), redis: client, keys };
    const select: DecideSelect = { batch: 'b', state };
    const report = await decide(context, select, { ...WHO, as });
    expect(proxy.struck).toBe(1);
    expect(report).toEqual({ ...DONE, done: 3, contacts: 30 });
    const now = as === 'resend' ? 'pending' : as === 'accepted' ? as : 'cancelled';
    expect((await built.read()).counts).toMatchObject({ [now]: 30, [state]: 0, total: 30 });
    expect(await readAudit(redis.client, keys, 10)).toMatchObject([
      { as: `${as} ${state}`, contacts: 30 },
    ]);
  });
});
