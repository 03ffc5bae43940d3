import { withConstants } from '../support/constants.ts';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import type { DeliveryPolicy } from '../../src/contracts/outcome.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { InFlight } from '../../workers/queue/in-flight.ts';
import { buildSendWorker, lanesOf } from '../../workers/queue/send-worker.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { connectionAs } from '../support/redis-users.ts';
import { startWorkerInProcess } from './support/worker-in-process.ts';
import { ownRedis } from '../support/own-redis.ts';

/** Commands by name, also those inside scripts, as the server executed them. */
type Commands = Readonly<Record<string, number>>;

const LONG = { timeout: 120_000 };

const FEW = 50;
const MANY = 350;

/** Id of a notice's job, in any argument of a command. */
const JOB_ID = /\bn-[\w-]{16}/;

/** How this test waits for the end. ZCARD appears in no script of a worker's steady state. */
const POLLS = new Set(['zcard', 'info', 'ping']);

/** What goes by the clock may be so much more in the longer run: a tenth of one for each send. */
const MOST_BY_CLOCK = (MANY - FEW) / 10;

/**
 * What a worker costs Redis, counted by the server. A run with many jobs less a run with few leaves
 * what the jobs cost, and takes out what a process costs once.
 */
describe('in steady state', async () => {
  const { server, client: redis } = await ownRedis({}, afterAll);
  let runs = 0;

  /**
   * Counts what the server executes during `work`: the commands that name a job, and those of a script that
   * does, which follow it. Round trips in which no job is named go by the clock, however fast the machine is:
   * fetches from an empty lane, heartbeats, connections. They are counted as one `rest` each; one for each send
   * shows there. Those of the hold gate are one `hold` each: a worker asks once, or twice where its subscription
   * to hints comes after its first job.
   */
  async function commandsOf(work: () => Promise<void>): Promise<Commands> {
    const monitor = await redis.monitor();
    const calls: Record<string, number> = {};
    let ended = false;
    let trip: (readonly string[])[] = [];
    const count = (name: string) => (calls[name] = (calls[name] ?? 0) + 1);
    const countTrip = () => {
      const [[name = '', ...args] = []] = trip;
      const key = name.startsWith('eval') ? args[2] : args[0];
      if (key?.endsWith(':hold') === true) count('hold');
      else if (trip.some((line) => line.some((arg) => JOB_ID.test(arg)))) {
        for (const [command = ''] of trip) count(command.toLowerCase());
      } else if (!POLLS.has(name)) count('rest');
    };
    monitor.on('monitor', (_time: string, line: readonly string[], source: string) => {
      if (ended) return;
      if (source === 'lua') {
        trip.push(line);
        return;
      }
      if (trip.length > 0) countTrip();
      trip = [line];
      ended = line[0] === 'echo' && line[1] === 'end of the count';
    });
    try {
      await work();
      await redis.echo('end of the count');
      await until(() => ended, { what: 'the end of the count' });
    } finally {
      monitor.disconnect();
    }
    return calls;
  }

  /** Counts what a worker asks of Redis for so many jobs that wait for it. */
  async function cost(
    jobs: number,
    work: (prefix: string) => Promise<void>,
    delivery: DeliveryPolicy = 'at-least-once',
  ): Promise<Commands> {
    const prefix = `steady-${(runs += 1)}`;
    const producer = new NoticeQueue({
      redis: connectionAs('producer', server.url),
      prefix,
      delivery,
    });
    await producer.sendMany(
      numbers(jobs).map((contact) => ({ templateCode: 'T', contacts: [{ contact }] })),
    );
    await producer.close();
    return commandsOf(() => work(prefix));
  }

  const bullPrefix = (prefix: string) => keysOf(prefix, 'default').bullPrefix;

  async function untilDone(prefix: string, jobs: number): Promise<void> {
    const done = `${bullPrefix(prefix)}:${QUEUE_NAME}:completed`;
    await until(async () => (await redis.zcard(done)) === jobs, {
      what: 'all done',
      everyMs: 50,
      deadlineMs: 90_000,
    });
  }

  /** A worker that does nothing, with the limiter and the retention that holds and looks back need. */
  const bare = (jobs: number) => async (prefix: string) => {
    const connection = new Redis(server.url, { maxRetriesPerRequest: null });
    const settings = loadConfig(withConstants({ HEARTBEAT_MS: '60000' }), {
      service: false,
    }).worker;
    const worker = buildSendWorker(
      {
        redis: connection,
        keys: keysOf(prefix, 'default'),
        lane: lanesOf({ ...settings, concurrency: 1 }).notices,
        settings,
        inFlight: new InFlight(),
      },
      () => Promise.resolve({ outcome: 'accepted', confirmed: true }),
    );
    const running = worker.run();
    await untilDone(prefix, jobs);
    await worker.close();
    await running;
    connection.disconnect();
  };

  const ours =
    (jobs: number, events = 0) =>
    async (prefix: string) => {
      const worker = await startWorkerInProcess(server.url, prefix, {
        CONCURRENCY: '1',
        HEARTBEAT_MS: '60000',
        NOTICE_EVENTS: String(events),
      });
      await untilDone(prefix, jobs);
      expect(worker.emulator.record().distinct).toBe(jobs);
      await worker.stop();
    };

  const difference = async (run: (jobs: number) => Promise<Commands>) =>
    subtract(await run(MANY), await run(FEW));

  let counted: Promise<Commands> | undefined;
  const plainNotices = () => (counted ??= difference((jobs) => cost(jobs, ours(jobs))));

  it(
    'a send costs Redis what a bare BullMQ worker costs it, and nothing for the token',
    LONG,
    async () => {
      // A server that is new to the scripts is sent their text once.
      await cost(1, ours(1));
      const bareCost = await difference((jobs) => cost(jobs, bare(jobs)));
      const ourCost = await plainNotices();
      // One round trip for each job, ours as theirs; what a script does inside is compared next.
      expect(bareCost['evalsha']).toBe(MANY - FEW);
      expect(ourCost['evalsha']).toBe(MANY - FEW);
      // BullMQ's limiter sets an expiry once a second, in the script that ends whatever job then ends.
      const byClock = new Set(['pexpire', 'hold', 'rest']);
      expect(Math.abs(ourCost['hold'] ?? 0)).toBeLessThanOrEqual(1);
      for (const { rest = 0 } of [bareCost, ourCost]) expect(rest).toBeLessThan(MOST_BY_CLOCK);
      const perJob = (all: Commands) =>
        Object.fromEntries(Object.entries(all).filter(([name]) => !byClock.has(name)));
      expect(perJob(ourCost)).toEqual(perJob(bareCost));
    },
  );

  it(
    'events cost one command more for each notice, in the write that ends its job',
    LONG,
    async () => {
      await cost(1, ours(1, 10_000));
      const without = await plainNotices();
      const events = await difference((jobs) => cost(jobs, ours(jobs, 10_000)));
      const more = (name: string) => (events[name] ?? 0) - (without[name] ?? 0);
      // In the same write; a heartbeat goes by the clock.
      expect(Math.abs(more('evalsha'))).toBeLessThanOrEqual(2);
      expect(Math.abs(more('eval') - (MANY - FEW))).toBeLessThanOrEqual(2);
      // BullMQ adds an entry whenever the queue runs empty, which goes by the clock, too.
      expect(Math.abs(more('xadd') - (MANY - FEW))).toBeLessThanOrEqual(5);
      expect(await redis.xlen(keysOf(`steady-${runs - 1}`, 'default').events)).toBe(MANY);
    },
  );

  it(
    'at-most-once costs two round trips more, and leaves nothing behind that grows',
    LONG,
    async () => {
      await cost(1, ours(1), 'at-most-once');
      const most = await difference((jobs) => cost(jobs, ours(jobs), 'at-most-once'));
      expect(most['evalsha']).toBe(3 * (MANY - FEW));
      expect(most['rest'] ?? 0).toBeLessThan(MOST_BY_CLOCK);
      const { history, acceptedIntents } = keysOf(`steady-${runs - 1}`, 'default');
      expect(await redis.hlen(history)).toBeLessThan(10);
      expect(await redis.zcard(acceptedIntents)).toBeLessThan(10);
    },
  );
});

/** The difference of two counts, without what did not change. */
function subtract(left: Commands, right: Commands): Commands {
  return Object.fromEntries(
    [...new Set([...Object.keys(left), ...Object.keys(right)])]
      .map((name) => [name, (left[name] ?? 0) - (right[name] ?? 0)] as const)
      .filter(([, calls]) => calls !== 0),
  );
}
