import { expect, it } from 'vitest';
import { room } from '../../service-coverage/support/line.ts';
import { numbers } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';

const lines = room();
const listOf = (count: number, from = 0) => numbers(count, from).map((contact) => ({ contact }));

/** A worker, and the `connection` header of each of its sends. */
async function start() {
  const line = await lines.wired();
  const sends = () => line.wire.calls.filter(({ path }) => path.endsWith('/send'));
  return { ...line, connections: () => sends().map(({ headers }) => headers.connection) };
}

it.each([
  ['at-most-once', 'close'],
  ['at-least-once', 'keep-alive'],
] as const)('%s: notices and chunks go with "connection: %s"', async (delivery, connection) => {
  const { queue, connections } = await start();
  for (const one of listOf(3)) {
    await queue.send({ templateCode: 'T', contacts: [one] }, { delivery });
  }
  await queue.import(listOf(3, 100), { templateCode: 'T', chunkSize: 1, delivery });
  await until(() => connections().length === 6, { what: 'all sends' });
  expect(connections()).toEqual(Array(6).fill(connection));
});

it.each(['a notice', 'a chunk'])(
  'at-least-once: the probe of a hold by %s goes with "connection: close", for kept connections may have died',
  async (what) => {
    const { emulator, queue, connections, attempts } = await start();
    emulator.addFault({ on: 'send', status: 402 });
    if (what === 'a notice') await queue.send({ templateCode: 'T', contacts: listOf(1) });
    else await queue.import(listOf(1), { templateCode: 'T' });
    const probes = () => attempts().filter(({ probe }) => probe === true).length;
    await until(() => probes() >= 2, { what: 'two probes' });
    emulator.clearFaults();
    const isAccepted = () => attempts().some(({ outcome }) => outcome === 'accepted');
    await until(isAccepted, { what: 'the acceptance' });
    expect(connections()).toEqual(['keep-alive', ...Array<string>(probes()).fill('close')]);
  },
);
