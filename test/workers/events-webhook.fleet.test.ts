import { describe, expect, it, onTestFinished } from 'vitest';
import { placeManualHold } from '../../src/fleet/hold/hold-scripts.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { startFleet } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { startReceiver } from '../events/support/receiver.ts';

const redis = testRedis();
const WAIT = { deadlineMs: 30_000 };

describe('workers with a webhook', () => {
  it('tell of a hold of the service and its end, of the end of a batch, and that the last one goes', async () => {
    const receiver = await startReceiver();
    const prefix = redis.freshPrefix();
    const fleet = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 2,
      env: {
        EVENT_WEBHOOK_URL: receiver.url,
        EVENT_WEBHOOK_SECRET: 'a secret of sixteen',
        HOLD_PROBE_MIN_MS: '500',
        HOLD_PROBE_MAX_MS: '1000',
      },
    });
    onTestFinished(() => fleet.close());
    fleet.emulator.addFault({ on: 'send', status: 402 });
    await fleet.sendEach(['01000000001']);
    const begun = await until(() => receiver.events().find(({ event }) => event === 'hold.begun'), {
      what: 'the hold',
      ...WAIT,
    });
    expect(begun).toMatchObject({
      kind: 'credit',
      code: 'HTTP_402',
      remedy: 'top up the account at the service',
    });
    fleet.emulator.clearFaults();
    await until(() => receiver.names().includes('hold.ended'), { what: 'its end', ...WAIT });

    await fleet.queue.import([{ contact: '01000000002' }, { contact: '01000000003' }], {
      templateCode: 'T',
      batchId: 'autumn',
    });
    const finished = await until(
      () => receiver.events().find(({ event }) => event === 'batch.finished'),
      { what: 'the end of the batch', ...WAIT },
    );
    expect(finished).toMatchObject({ batch: 'autumn', total: 2, accepted: 2 });

    for (const worker of fleet.workers) {
      if (worker === fleet.workers[0]) continue;
      worker.kill('SIGTERM');
      await worker.ended;
    }
    expect(receiver.names()).not.toContain('workers.none');
    // The last one leaves jobs behind.
    await placeManualHold(redis.client, keysOf(prefix, 'default'), 'why');
    await fleet.sendEach(['01000000004', '01000000005', '01000000006']);
    fleet.workers[0]?.kill('SIGTERM');
    expect(await fleet.workers[0]?.ended).toBe(0);
    await until(() => receiver.names().includes('workers.none'), {
      what: 'the last word',
      ...WAIT,
    });
    const bodies = receiver.received.map(({ body }) => body).join('\n');
    for (let last = 1; last <= 6; last++) expect(bodies).not.toContain(`0100000000${last}`);
  }, 120_000);
});
