import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { acceptedNumbers, room, type Line } from '../../service-coverage/support/line.ts';
import { numbers } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';

/** As text: `JSON.stringify` cannot write so deep a value. */
const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const noticeWith = (field: string, contactField = '') =>
  `{"v":1,"notice":{"templateCode":"T","scheduleType":"DIRECTLY"${field},"contacts":[{"contact":"01000000000"${contactField}}]}}`;

/** A job of another producer that no request can be made of, among good notices of the same template. */
describe('a malformed job', () => {
  const lines = room();
  const { redis } = lines;
  let emulator: Emulator;

  beforeEach(async () => {
    emulator = await startEmulator();
  });
  afterEach(() => emulator.close());

  /** Queues a job with these fields in Redis, between good notices, for a worker that starts afterwards. */
  async function run(
    fields: Readonly<Record<string, string>>,
  ): Promise<{ line: Line; id: string; good: string[] }> {
    const line = await lines.line(emulator.url, { COALESCE_MAX_CONTACTS: '100' });
    const keys = keysOf(line.prefix, 'default');
    const queue = openBullQueue(QUEUE_NAME, redis.client, keys);
    await queue.pause();
    const good = numbers(6, 1);
    const send = (list: readonly string[]) =>
      line.queue.sendMany(list.map((contact) => ({ templateCode: 'T', contacts: [{ contact }] })));
    await send(good.slice(0, 3));
    const { id = '' } = await queue.add('send', {});
    await redis.client.hset(keys.noticeJob(id), fields);
    await send(good.slice(3));
    await queue.resume();
    await queue.close();
    return { line, id, good };
  }

  it.each([
    ['a contact nested 20,000 levels deep', { data: noticeWith('', `,"x":${deep(20_000)}`) }],
    ['a field nested 20,000 levels deep', { data: noticeWith(`,"x":${deep(20_000)}`) }],
    ['text that is not JSON', { data: '{"v":1,' }],
    ['options that are not JSON', { data: noticeWith(''), opts: '{"attempts":3,' }],
    ['options that are null', { data: noticeWith(''), opts: 'null' }],
    ['data and options that are not JSON', { data: '{"v":1,', opts: 'attempts=3' }],
  ])('fails alone and at once: %s', async (_name, fields) => {
    const { line, id, good } = await run(fields);
    const keys = keysOf(line.prefix, 'default');
    const failed = () => redis.client.zscore(keys.failedNotices, id);
    await until(failed, { what: 'the job to fail' });
    await until(() => emulator.record().distinct === good.length, { what: 'the others' });
    expect(acceptedNumbers(emulator).toSorted()).toEqual(good);
    const reason = await redis.client.hget(keys.noticeJob(id), 'failedReason');
    expect(reason).toMatch(/^JOB_INVALID/);
    expect(line.attempts().find(({ job }) => job === id)).toMatchObject({ code: 'JOB_INVALID' });
    await until(async () => (await redis.client.llen(keys.noticesIn('active'))) === 0, {
      what: 'no active job',
    });
    // Boards and commands can read it.
    const queue = openBullQueue(QUEUE_NAME, redis.client, keys);
    expect((await queue.getJobs(['failed'])).map((job) => job.id)).toEqual([id]);
    await queue.close();
  });
});
