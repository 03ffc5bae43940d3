import { expect, it } from 'vitest';
import { startEmulator } from '../../../src/emulator/emulator.ts';
import { readNoticeEvents } from '../../support/events.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { room } from '../../service-coverage/support/line.ts';
import { numbers } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';

const NOTICES = 3;

const lines = room();

it('an event that Redis refuses lastingly does not keep the next job from being sent', async () => {
  const { client } = lines.redis;
  const emulator = await startEmulator();
  try {
    const line = await lines.line(emulator.url, { CONCURRENCY: '1', NOTICE_EVENTS: '1000' });
    const keys = keysOf(line.prefix, 'default');
    const queue = openBullQueue(QUEUE_NAME, client, keys);
    await queue.pause();
    await client.set(keys.events, 'of another program');
    await line.queue.sendMany(
      numbers(NOTICES).map((contact) => ({ templateCode: 'T', contacts: [{ contact }] })),
    );
    await queue.resume();
    await until(async () => (await queue.getCompletedCount()) === NOTICES, { what: 'all to end' });
    const jobs = await queue.getCompleted();
    await queue.close();
    expect(jobs.map(({ stalledCounter }) => stalledCounter)).toEqual([0, 0, 0]);
    expect([...emulator.contacts()].map(({ count }) => count)).toEqual([1, 1, 1]);
    // Who runs the workers learns why the events are missing.
    expect(line.log.some(({ code }) => code === 'WRONGTYPE')).toBe(true);
  } finally {
    await emulator.close();
  }
});

it('an event that Redis refuses together with the end of its notice is appended with it', async () => {
  const { client } = lines.redis;
  const user = { REDIS_USERNAME: 'refused-for-a-moment', REDIS_PASSWORD: 'any' };
  const setUser = (...rules: string[]) => client.acl('SETUSER', user.REDIS_USERNAME, ...rules);
  await setUser('on', '>any', 'allkeys', 'allchannels', 'allcommands');
  const emulator = await startEmulator();
  try {
    emulator.addFault({ on: 'send', latencyMs: 700 });
    const line = await lines.line(emulator.url, { ...user, NOTICE_EVENTS: '1000' });
    await line.queue.send({ templateCode: 'T', contacts: [{ contact: '01012345678' }] });
    await until(() => emulator.record().requests > 0, { what: 'the request' });
    await setUser('resetkeys');
    await until(() => line.attempts().length > 0, { what: 'the answer' });
    const answered = line.log.length;
    await until(() => line.log.slice(answered).some(({ code }) => code === 'NOPERM'), {
      what: 'the refusal to be logged',
    });
    await setUser('allkeys');
    const keys = keysOf(line.prefix, 'default');
    const events = await until(
      async () => {
        const found = await readNoticeEvents(client, keys, '0', 10);
        return found.events.length > 0 && found.events;
      },
      { what: 'the event' },
    );
    expect(events).toMatchObject([{ state: 'accepted' }]);
    expect([...emulator.contacts()].map(({ count }) => count)).toEqual([1]);
  } finally {
    await emulator.close();
    await client.acl('DELUSER', user.REDIS_USERNAME);
  }
});
