import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { acceptedNumbers, room, type Line } from '../../service-coverage/support/line.ts';
import { numbers } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';
import { readEnded } from '../../../src/notices/ended.ts';

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
    const line = await lines.line(emulator.url);
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
    ['data of an unknown version', { data: noticeWith('').replace('"v":1', '"v":0') }],
    ['no contacts', { data: noticeWith('').replace(/\[.*\]/, '[]') }],
    ['a text', { data: '"text"' }],
    ['null', { data: 'null' }],
    ['text that is not JSON', { data: '{"v":1,' }],
    ['options that are not JSON', { data: noticeWith(''), opts: '{"attempts":3,' }],
    ['options that are null', { data: noticeWith(''), opts: 'null' }],
    ['data and options that are not JSON', { data: '{"v":1,', opts: 'attempts=3' }],
    ['options of other types', { data: noticeWith(''), opts: '{"removeOnFail":"x"}' }],
    ['more attempts than any setting allows', { data: noticeWith(''), opts: '{"attempts":1e12}' }],
    ['progress that is not JSON', { data: noticeWith(''), progress: '{' }],
    ['a parent that is not JSON', { data: noticeWith(''), parentKey: 'p:q:1', parent: '{' }],
    [
      'a parent',
      { data: noticeWith(''), parentKey: 'p:q:1', parent: '{"id":"1","queueKey":"p:q"}' },
    ],
    ['a repeat key', { data: noticeWith(''), rjk: 'x' }],
    ['a repeat key of the older form', { data: noticeWith(''), rjk: 'send:id:1:UTC:* * * * *' }],
    ['a failure that was decided before', { data: noticeWith(''), defa: 'text of others' }],
    ['the id of another job', { data: noticeWith(''), id: 'other' }],
    [
      'counts that are no numbers',
      { data: noticeWith(''), atm: 'x', priority: 'x', timestamp: 'x' },
    ],
    ['a count of stalls that is no number', { data: noticeWith(''), stc: '1e400' }],
  ])('fails alone and at once: %s', async (_name, fields) => {
    const { line, id, good } = await run(fields);
    const keys = keysOf(line.prefix, 'default');
    const failed = () => redis.client.zscore(keys.endedIn('rejected'), id);
    await until(failed, { what: 'the job to fail' });
    await until(() => emulator.record().distinct === good.length, { what: 'the others' });
    expect(acceptedNumbers(emulator).toSorted()).toEqual(good);
    const [entry] = await readEnded(redis.client, keys, [id]);
    expect(entry).toMatchObject({ state: 'rejected', code: 'JOB_INVALID', possiblySent: 0 });
    expect(line.attempts().find(({ job }) => job === id)).toMatchObject({ code: 'JOB_INVALID' });
    await until(async () => (await redis.client.llen(keys.noticesIn('active'))) === 0, {
      what: 'no active job',
    });
    expect(await redis.client.exists(keys.noticeJob(id))).toBe(0);
  });

  /** BullMQ's scripts fail at it after they have made the job active: it ends when its lock has, and may have been sent. */
  it('fails once its lock ends: a count of runs that is no number', async () => {
    const { line, id, good } = await run({ data: noticeWith(''), ats: 'x' });
    const keys = keysOf(line.prefix, 'default');
    const runs = () => redis.client.hget(keys.noticeJob(id), 'ats');
    await until(async () => (await runs()) !== 'x', { what: 'the count to be set aside' });
    await until(() => emulator.record().distinct === good.length, { what: 'the others' });
    await redis.client.del(`${keys.noticeJob(id)}:lock`);
    const failed = () => redis.client.zscore(keys.endedIn('unknown'), id);
    await until(failed, { what: 'the job to fail', deadlineMs: 20_000 });
    expect(acceptedNumbers(emulator).toSorted()).toEqual(good);
  });
});
