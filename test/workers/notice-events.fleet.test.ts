import { expect, it, onTestFinished } from 'vitest';
import type { NoticeEvent } from '../../src/events/event.ts';
import { readNoticeEvents } from '../support/events.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { numbers, startFleet } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const redis = testRedis();
const NOTICES = 400;

it('each notice has the event of its end although a worker is killed while they end', async () => {
  const prefix = redis.freshPrefix();
  const keys = keysOf(prefix, 'default');
  const fleet = await startFleet({
    redisUrl: redis.url,
    prefix,
    processes: 2,
    env: {
      NOTICE_EVENTS: '10000',
      LOCK_DURATION_MS: '5000',
      HEARTBEAT_MS: '500',
      SEND_DEADLINE_MS: '2400',
      ANSWER_TIMEOUT_MS: '2000',
      ISSUE_DEADLINE_MS: '2400',
      CONNECT_TIMEOUT_MS: '400',
    },
  });
  onTestFinished(() => fleet.close());
  fleet.emulator.addFault({ on: 'send', latencyMs: 20 });
  await fleet.sendEach(numbers(NOTICES));
  const completed = `${keys.noticeJob('')}completed`;
  const ended = () => redis.client.zcard(completed);
  await until(async () => (await ended()) > 100, { what: 'some to end', everyMs: 1 });
  fleet.workers[0]?.kill('SIGKILL');
  await until(async () => (await ended()) === NOTICES, { what: 'all to end', deadlineMs: 60_000 });
  const events: NoticeEvent[] = [];
  for (let from = '0'; ;) {
    const page = await readNoticeEvents(redis.client, keys, from, 1_000);
    if (page.events.length === 0) break;
    events.push(...page.events);
    from = page.cursor;
  }
  const accepted = events.filter(({ state }) => state === 'accepted').map(({ notice }) => notice);
  const done = await redis.client.zrange(completed, 0, '-1');
  expect(new Set(accepted)).toEqual(new Set(done));
  expect(events.length - new Set(accepted).size).toBeLessThan(64);
}, 120_000);
