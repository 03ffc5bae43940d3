import { describe, expect, it, onTestFinished } from 'vitest';
import { DELIVERY_POLICIES } from '../../src/contracts/outcome.ts';
import type { Emulator } from '../../src/emulator/emulator.ts';
import { NoticeQueue, type NoticeQueueOptions } from '../../src/index.ts';
import { faultProxyOf, type FaultProxy } from '../support/fault-proxy.ts';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';
import { startWorkerInProcess } from '../workers/support/worker-in-process.ts';

/** The network between application and Redis delays everything by this long after it lost a reply. */
const DELAY_MS = 150;

describe('the reply to an add is lost, and the job ends before the add is repeated', () => {
  const redis = testRedis();

  /** A worker that keeps no accepted notice, and an application behind a proxy. */
  async function open(options: NoticeQueueOptions) {
    const prefix = redis.freshPrefix();
    const keepNone = { KEEP_ACCEPTED_MS: '0' };
    const { emulator } = await startWorkerInProcess(redis.url, prefix, keepNone);
    const proxy = await faultProxyOf(redis.url);
    const queue = new NoticeQueue({
      redis: connectionAs('producer', redis.url, proxy.url),
      prefix,
      enqueueTimeoutMs: 15_000,
      ...options,
    });
    onTestFinished(() => queue.close());
    await queue.send({ templateCode: 'WARM', contacts: [{ contact: '01000000000' }] });
    await accepted(emulator, 1);
    return { prefix, emulator, proxy, queue };
  }

  const accepted = (emulator: Emulator, contacts: number) =>
    until(() => emulator.record().contacts >= contacts, { what: `${contacts} acceptances` });

  /** Ids of the jobs that the queue still has, in any state. */
  const jobsLeft = async (prefix: string) =>
    (await redis.keys(`${prefix}:default}:send:n-`)).filter((key) => !key.endsWith(':lock'));

  /** Loses the reply to the next add, and lets the next connection through once nothing is left to do. */
  async function loseReply(proxy: FaultProxy, jobsEnded: () => Promise<unknown>) {
    const before = proxy.struck;
    await proxy.place({ kind: 'drop-reply', when: 'LOST', times: 1 });
    const repaired = async () => {
      await until(() => proxy.struck > before, { what: 'the lost reply', everyMs: 2 });
      await proxy.place({ kind: 'delay', ms: DELAY_MS });
      await jobsEnded();
      await proxy.heal();
    };
    return { repaired: repaired() };
  }

  it.each(
    DELIVERY_POLICIES.flatMap((delivery) => [
      { delivery, call: 'send', count: 1, idempotencyKey: undefined },
      { delivery, call: 'send with a key', count: 1, idempotencyKey: 'order-1' },
      { delivery, call: 'sendMany', count: 30, idempotencyKey: undefined },
    ]),
  )('$call, $delivery: sent once', async ({ delivery, count, idempotencyKey }) => {
    const { prefix, emulator, proxy, queue } = await open({ delivery });
    const notices = numbers(count, 1).map((contact) => ({
      templateCode: 'LOST',
      contacts: [{ contact }],
    }));
    const { repaired } = await loseReply(proxy, async () => {
      await accepted(emulator, 1 + count);
      await until(async () => (await jobsLeft(prefix)).length <= 1, { what: 'the jobs to end' });
    });
    const receipts = await queue.sendMany(notices, { idempotencyKey });
    await repaired;
    expect(new Set(receipts.map(({ id }) => id)).size).toBe(count);
    expect(receipts.map(({ duplicate }) => duplicate)).toEqual(notices.map(() => false));
    // Whatever the repeated call queued is sent before this one.
    await queue.send({ templateCode: 'LAST', contacts: [{ contact: '01000000999' }] });
    await until(() => [...emulator.contacts()].some(({ contact }) => contact === '01000000999'), {
      what: 'the last notice',
    });
    expect(emulator.record()).toMatchObject({ contacts: count + 2, twice: 0 });
  });
});
