import { expect, it } from 'vitest';
import { placeManualHold } from '../../src/fleet/hold/holds.ts';
import { startReceiver } from '../events/support/receiver.ts';
import { readNoticeEvents } from '../support/events.ts';
import { fleetOn, numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const redis = testRedis();
const NOTICES = 400;
const WAIT = { deadlineMs: 60_000 };

it('a worker is killed while notices end: each has its event; a list has one of its end; the last worker says that it goes', async () => {
  const receiver = await startReceiver();
  const { prefix, keys } = redis.account();
  const fleet = await fleetOn(redis, {
    prefix,
    processes: 2,
    env: {
      EVENT_WEBHOOK_URL: receiver.url,
      EVENT_WEBHOOK_SECRET: 'a secret of sixteen',
      NOTICE_EVENTS: '10000',
      LOCK_DURATION_MS: '5000',
      HEARTBEAT_MS: '500',
      SEND_DEADLINE_MS: '2400',
      ANSWER_TIMEOUT_MS: '2000',
      ISSUE_DEADLINE_MS: '2400',
      CONNECT_TIMEOUT_MS: '400',
    },
  });
  const [first, last] = fleet.workers;
  fleet.emulator.addFault({ on: 'send', latencyMs: 20 });
  await fleet.sendEach(numbers(NOTICES));
  const completed = `${keys.noticeJob('')}completed`;
  const ended = () => redis.client.zcard(completed);
  await until(async () => (await ended()) > 100, { what: 'some to end', everyMs: 1 });
  first?.kill('SIGKILL');
  await until(async () => (await ended()) === NOTICES, { what: 'all to end', ...WAIT });
  const { events } = await readNoticeEvents(redis.client, keys, '0', 10_000);
  const accepted = events.filter(({ state }) => state === 'accepted').map(({ notice }) => notice);
  const done = await redis.client.zrange(completed, 0, '-1');
  expect(new Set(accepted)).toEqual(new Set(done));
  expect(events.length - new Set(accepted).size).toBeLessThan(64);

  const rows = numbers(2, 9_000).map((contact) => ({ contact }));
  await fleet.queue.import(rows, { templateCode: 'T', batchId: 'autumn' });
  const finished = await until(
    () => receiver.events().find(({ event }) => event === 'batch.finished'),
    { what: 'the end of the list', ...WAIT },
  );
  expect(finished).toMatchObject({ batch: 'autumn', total: 2, accepted: 2 });
  expect(receiver.names()).not.toContain('workers.none');
  // The last one leaves jobs behind.
  await placeManualHold(redis.client, keys, 'why');
  await fleet.sendEach(numbers(3, 8_000));
  last?.kill('SIGTERM');
  expect(await last?.ended).toBe(0);
  await until(() => receiver.names().includes('workers.none'), { what: 'the last word', ...WAIT });
  const bodies = receiver.received.map(({ body }) => body).join('\n');
  for (const { contact } of rows) expect(bodies).not.toContain(contact);
}, 120_000);
