import { expect, it } from 'vitest';
import { fleetOn, numbers } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { wireTo } from '../../service-coverage/support/wire.ts';

const redis = testRedis();

it.each([
  ['at-most-once', 'close'],
  ['at-least-once', 'keep-alive'],
] as const)('%s: notices and chunks go with "connection: %s"', async (delivery, connection) => {
  const on = await fleetOn(redis, { processes: 0 });
  const wire = await wireTo(on.emulator);
  await on.addWorker({ BASE_URL: wire.url });
  for (const contact of numbers(3)) {
    await on.queue.send({ templateCode: 'T', contacts: [{ contact }] }, { delivery });
  }
  const list = numbers(3, 100).map((contact) => ({ contact }));
  await on.queue.import(list, { templateCode: 'T', batchId: 'own', chunkSize: 1, delivery });
  const sends = () => wire.calls.filter(({ path }) => path.endsWith('/send'));
  await until(() => sends().length === 6, { what: 'all sends', deadlineMs: 20_000 });
  expect(sends().map(({ headers }) => headers.connection)).toEqual(Array(6).fill(connection));
});

it.each(['a notice', 'a chunk'])(
  'at-least-once: the probe of a hold by %s goes with "connection: close", for kept connections may have died',
  async (what) => {
    const on = await fleetOn(redis, { processes: 0 });
    const { emulator, addWorker, queue } = on;
    const wire = await wireTo(emulator);
    await addWorker({
      BASE_URL: wire.url,
      HOLD_PROBE_MIN_MS: '50',
      HOLD_PROBE_MAX_MS: '100',
    });
    emulator.addFault({ on: 'send', status: 402 });
    const [contact = ''] = numbers(1);
    if (what === 'a notice') await queue.send({ templateCode: 'T', contacts: [{ contact }] });
    else await queue.import([{ contact }], { templateCode: 'T', batchId: 'probe' });
    const probes = () => on.attempts().filter(({ probe }) => probe === true).length;
    await until(() => probes() >= 2, { what: 'two probes', deadlineMs: 20_000 });
    emulator.clearFaults();
    await until(() => on.attempts().some(({ outcome }) => outcome === 'accepted'), {
      what: 'the acceptance',
      deadlineMs: 20_000,
    });
    const sends = wire.calls.filter(({ path }) => path.endsWith('/send'));
    expect(sends.map(({ headers }) => headers.connection)).toEqual([
      'keep-alive',
      ...Array<string>(probes()).fill('close'),
    ]);
  },
);
