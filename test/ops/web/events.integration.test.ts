import { request, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startRedisServer, type RedisServer } from '../../../scripts/redis/redis-server.ts';
import { contacts } from '../../batch/support/built-batch.ts';
import { commandsOf } from './support/commands.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { startOps, type Caller, type OpsBench } from './support/ops-bench.ts';

const redis = testRedis();
const DEADLINE_MS = 30_000;

interface Heard {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** One who listens, over a real socket. */
interface Ear {
  readonly status: number;
  readonly heard: readonly Heard[];
  readonly ended: boolean;
  hears(event: string, what?: (data: Heard['data']) => boolean): Promise<Heard>;
  leave(): void;
}

async function listen(bench: OpsBench, who: Caller): Promise<Ear> {
  const heard: Heard[] = [];
  let ended = false;
  const call = request(`${bench.url}/api/v1/events`, {
    headers: who.headers,
    agent: false,
  });
  onTestFinished(() => {
    call.destroy();
  });
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    call.on('response', resolve).on('error', reject);
    call.end();
  });
  answer.on('error', () => {}).on('close', () => (ended = true));
  let event = '';
  const lines = createInterface({ input: answer });
  // A listener who leaves breaks his connection off.
  lines.on('error', () => {});
  lines.on('line', (line) => {
    if (line.startsWith('event: ')) event = line.slice(7);
    if (!line.startsWith('data: ')) return;
    heard.push({ event, data: JSON.parse(line.slice(6)) as Heard['data'] });
  });
  return {
    status: answer.statusCode ?? 0,
    heard,
    get ended() {
      return ended;
    },
    hears: (name, what = () => true) =>
      until(() => heard.find((one) => one.event === name && what(one.data)), {
        what: `the event ${name}`,
        deadlineMs: DEADLINE_MS,
      }),
    leave: () => call.destroy(),
  };
}

describe('live events', () => {
  it('tell the status again and again', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const ear = await listen(bench, await bench.viewer());
    expect(ear.status).toBe(200);
    await ear.hears('status', ({ jobs }) => (jobs as { waiting: number }).waiting === 0);
    await bench.context.notices.send({ templateCode: 'T', contacts: contacts(1) });
    await ear.hears('status', ({ jobs }) => (jobs as { waiting: number }).waiting === 1);
    expect(JSON.stringify(ear.heard)).not.toMatch(/0100000/);
  });

  it('end with the session', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const viewer = await bench.viewer();
    const ear = await listen(bench, viewer);
    await ear.hears('status');
    expect((await viewer.post('/sign-out')).status).toBe(303);
    await until(() => ear.ended, { what: 'the stream to end', deadlineMs: DEADLINE_MS });
    expect(bench.context.feed.listeners).toBe(0);
  });

  it('end when the server does, which does not wait for them', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const ears = [
      await listen(bench, await bench.viewer()),
      await listen(bench, await bench.operator()),
    ];
    await Promise.all(ears.map((ear) => ear.hears('status')));
    await bench.close();
    await until(() => ears.every(({ ended }) => ended), { what: 'the streams to end' });
    expect(bench.context.feed.listeners).toBe(0);
  });

  it('are forgotten when their listener leaves, and nothing is asked any more', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const ear = await listen(bench, await bench.viewer());
    await ear.hears('status');
    expect(bench.context.feed.listeners).toBe(1);
    ear.leave();
    await until(() => bench.context.feed.listeners === 0, { what: 'the listener to be forgotten' });
  });

  it('of one caller are twenty at most', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const [viewer, operator] = [await bench.viewer(), await bench.operator()];
    for (let open = 0; open < 20; open += 1) {
      expect((await listen(bench, viewer)).status).toBe(200);
    }
    expect((await listen(bench, viewer)).status).toBe(429);
    expect((await listen(bench, operator)).status).toBe(200);
  });
});

describe('what live events cost', () => {
  let server: RedisServer;
  let bench: OpsBench;

  beforeAll(async () => {
    server = await startRedisServer();
  });

  afterAll(async () => {
    await server.close();
  });

  /** Commands for each status that was told, while so many listen. */
  async function costOf(listeners: number): Promise<number> {
    const viewer = await bench.viewer();
    const ears = await Promise.all(Array.from({ length: listeners }, () => listen(bench, viewer)));
    const [first] = ears;
    const told = () => first?.heard.filter(({ event }) => event === 'status').length ?? 0;
    await first?.hears('status');
    const [before, from] = [await commandsOf(server.url), told()];
    await until(() => told() >= from + 6, { what: 'six more', deadlineMs: DEADLINE_MS });
    const [after, to] = [await commandsOf(server.url), told()];
    for (const ear of ears) ear.leave();
    await until(() => bench.context.feed.listeners === 0, { what: 'all to leave' });
    return (after - before) / (to - from);
  }

  it('does not grow with those who listen', async () => {
    bench = await startOps(server.url, 'events');
    const [one, many] = [await costOf(1), await costOf(50)];
    expect(one).toBeGreaterThan(5);
    // A poll that is cut by the moment of counting weighs a little.
    expect(many).toBeLessThan(one * 2);
    expect(one).toBeLessThan(50);
  });

  it('Redis that goes away is told, and that it is back', async () => {
    bench = await startOps(server.url, 'trouble');
    const ear = await listen(bench, await bench.viewer());
    await ear.hears('status');
    await server.kill('SIGKILL');
    const { data } = await ear.hears('trouble', ({ cause }) =>
      String(cause).includes('Nothing listens'),
    );
    expect(data['since']).toBeGreaterThan(0);
    const told = ear.heard.length;
    await server.restart();
    await until(() => ear.heard.slice(told).some(({ event }) => event === 'status'), {
      what: 'the status after the outage',
      deadlineMs: DEADLINE_MS,
    });
  });
});
