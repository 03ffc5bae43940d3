import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import type { FindReport } from '../../src/search/find-answer.ts';
import type { Status } from '../../src/ops/status.ts';
import { fleetMetrics } from '../../src/metrics/fleet-metrics.ts';
import type { UnknownNotice } from '../../src/ops/unknown.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { run } from '../cli/support/run.ts';
import { readExposition } from '../metrics/exposition.ts';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';

const LONG = { deadlineMs: 40_000 };
const FIND_KEY = 'f'.repeat(64);

/** What users see of notices that the service may have accepted twice, compared with its record. */
describe('notices that were sent again', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;

  afterEach(async () => {
    await fleet?.close();
    fleet = undefined;
  });

  async function start(env: Readonly<Record<string, string>> = {}, latencyMs = 0) {
    const prefix = redis.freshPrefix();
    const port = await freePort();
    const on = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 0,
      env: {
        LOCK_DURATION_MS: '4000',
        SEND_DEADLINE_MS: '1900',
        ANSWER_TIMEOUT_MS: '1500',
        CONNECT_TIMEOUT_MS: '300',
        ISSUE_DEADLINE_MS: '1900',
        BACKOFF_BASE_MS: '50',
        BACKOFF_CAP_MS: '100',
        HEARTBEAT_MS: '200',
        CONCURRENCY: '8',
        HEALTH_ADDRESS: String(port),
        FIND_KEY,
        ...env,
      },
      emulator: { latencyMs },
    });
    fleet = on;
    const keys = keysOf(prefix, 'default');
    const json = async <Answer>(...args: string[]) =>
      JSON.parse((await run([...args, '--json'], { ...on.env })).stdout) as Answer;
    const lines = () => on.attempts().filter(({ possiblySent }) => Number(possiblySent) > 0);
    return {
      on,
      keys,
      lines,
      ended: (count: number) =>
        until(async () => (await json<Status>('status')).jobs.done === count, {
          what: `${count} ended`,
          ...LONG,
        }),
      status: async () => (await json<Status>('status')).possiblySentTwice,
      find: async (contact: string) => (await json<FindReport>('find', contact)).notices[0],
      unknown: async () => (await json<{ notices: UnknownNotice[] }>('unknown')).notices,
      /** Fails unless metrics report as many contacts. */
      reports: async (contacts: number) => {
        const source = { redis: redis.client, keys };
        const { value } = readExposition(await fleetMetrics(source).text());
        expect(value('notices_possibly_sent_twice_contacts', { lane: 'notices' })).toBe(contacts);
        const worker = readExposition(
          await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
        );
        const labels = { lane: 'notices', process: '0' };
        expect(worker.value('notices_possibly_sent_twice_contacts_total', labels)).toBe(contacts);
      },
    };
  }

  it('after a SIGKILL are counted and named, and the service accepted no more twice', async () => {
    const { on, lines, ended, status, find, reports } = await start({}, 5);
    const list = numbers(200);
    const queue = list.map((contact) => ({ templateCode: 'T', contacts: [{ contact }] }));
    const searchable = new NoticeQueue({
      redis: connectionAs('application', redis.url),
      prefix: on.env['REDIS_PREFIX'] ?? '',
      findKey: FIND_KEY,
    });
    await searchable.sendMany(queue);
    await searchable.close();
    const worker = await on.addWorker();
    await until(() => on.emulator.record().contacts >= 50, { what: 'some', ...LONG });
    // The service acts, and the worker dies before the answers.
    const { requests } = on.emulator.record();
    on.emulator.addFault({ on: 'send', hang: 'after-acting', times: 8 });
    await until(() => on.emulator.record().requests >= requests + 8, { what: 'acting', ...LONG });
    worker.kill('SIGKILL');
    await worker.ended;
    await on.addWorker();
    await until(() => on.emulator.record().distinct === 200, { what: 'all', ...LONG });
    // The jobs of the dead worker are found when their locks have expired. Lines of its last moment may be lost.
    await ended(200);
    await until(() => Number(on.emulator.record().twice) >= 8, {
      what: 'the repetitions',
      ...LONG,
    });
    const { twice } = on.emulator.record();
    const twiceTo = [...on.emulator.contacts()].filter(({ count }) => count > 1);
    await until(() => lines().length >= twiceTo.length, { what: 'the lines' });
    // Every job that was in flight is named, and no other.
    expect(lines().length).toBeLessThanOrEqual(8);
    expect(lines().every(({ possiblySent }) => possiblySent === 1)).toBe(true);
    const counted = await status();
    expect(counted.notices).toBe(lines().length);
    expect(twice).toBeGreaterThan(0);
    expect(twice).toBeLessThanOrEqual(counted.notices);
    for (const { contact } of twiceTo) {
      expect(await find(contact)).toMatchObject({ states: ['accepted'], possiblySent: 1 });
    }
    const once = [...on.emulator.contacts()].find(({ count }) => count === 1)?.contact ?? '';
    expect(await find(once)).toMatchObject({ states: ['accepted'] });
    await reports(counted.notices);
  }, 90_000);

  it('are not counted where the service provably accepted nothing the second time', async () => {
    const { on, status, unknown } = await start({ ATTEMPTS: '3' });
    on.emulator.addFault({ on: 'send', status: 500, afterActing: true, times: 1 });
    await on.queue.send({ templateCode: 'T', contacts: [{ contact: numbers(1)[0] ?? '' }] });
    const worker = await on.addWorker();
    await until(() => on.emulator.record().requests === 1, { what: 'the first', ...LONG });
    on.emulator.addFault({ on: 'send', status: 400, code: 'NO' });
    const listed = await until(async () => (await unknown())[0], { what: 'unknown', ...LONG });
    expect(listed).toMatchObject({ code: 'NO', possiblySent: 1 });
    expect(on.emulator.record()).toMatchObject({ contacts: 1, twice: 0 });
    expect(await status()).toEqual({ notices: 0, chunks: 0 });
    on.emulator.clearFaults();
    // A person sends it again: this may be a duplicate, and it is.
    const { code } = await run(['resolve', listed.id, '--as', 'resend', '--yes', '--json'], {
      ...on.env,
    });
    expect(code).toBe(0);
    await until(() => on.emulator.record().contacts === 2, { what: 'the duplicate', ...LONG });
    expect(await status()).toEqual({ notices: 1, chunks: 0 });
    expect(worker.gone).toBe(false);
  }, 60_000);
});
