import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { OPS_ROUTES } from '../../../src/ops/web/http/route-table.ts';
import { route } from '../../../src/ops/web/http/route.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { startOps } from './support/ops-bench.ts';

const redis = testRedis();

/** Longer than other connections may be silent. */
const SILENT_MS = 70_000;

/** A download of which nothing matches for long. */
const late = route({
  method: 'GET',
  path: '/late.csv',
  needs: 'viewer',
  kind: 'api',
  summary: '',
  handle: () => Readable.from(found()),
});

/** Few requests are answered by more than every buffer holds: all of them are read whole. */
const REQUESTS = 15;
const large = route({
  method: 'GET',
  path: '/large',
  needs: 'open',
  kind: 'asset',
  summary: '',
  handle: () => 'x'.repeat(1_000_000),
});

async function* found() {
  await setTimeout(SILENT_MS);
  yield 'found';
}

it('a connection whose caller reads no answer is closed, and not one of a download that finds nothing yet', async () => {
  const routes = [...OPS_ROUTES, late, large];
  const bench = await startOps(redis.url, redis.freshPrefix(), {}, routes);
  const download = bench.key('viewer').get('/late.csv');
  const { port, host } = new URL(bench.url);
  const socket = connect(Number(port), '127.0.0.1').pause();
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  // Complete requests, so that no time limit of a request applies.
  socket.write(`GET /large HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(REQUESTS));
  expect(await download).toMatchObject({ status: 200, text: 'found' });
  const isEnded = () => {
    // Who reads nothing learns of the end by writing; until then nothing was written, which would count as a move.
    socket.write('\r\n');
    return socket.destroyed;
  };
  expect(await until(isEnded, { what: 'the end of the connection' })).toBe(true);
}, 100_000);
