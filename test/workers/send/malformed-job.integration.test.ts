import { expect, it } from 'vitest';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { acceptedNumbers, room } from '../../service-coverage/support/line.ts';
import { numbers } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';
import { readEnded } from '../../../src/notices/ended.ts';

/** As text: `JSON.stringify` cannot write so deep a value. */
const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const noticeWith = (field: string, contactField = '') =>
  `{"v":1,"notice":{"templateCode":"T","scheduleType":"DIRECTLY"${field},"contacts":[{"contact":"01000000000"${contactField}}]}}`;

/** Jobs of another producer that no request can be made of, among good notices of the same template. */
const MALFORMED: readonly (readonly [what: string, fields: Readonly<Record<string, string>>])[] = [
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
  ['a parent', { data: noticeWith(''), parentKey: 'p:q:1', parent: '{"id":"1","queueKey":"p:q"}' }],
  ['a repeat key', { data: noticeWith(''), rjk: 'x' }],
  ['a repeat key of the older form', { data: noticeWith(''), rjk: 'send:id:1:UTC:* * * * *' }],
  ['a failure that was decided before', { data: noticeWith(''), defa: 'text of others' }],
  ['the id of another job', { data: noticeWith(''), id: 'other' }],
  ['counts that are no numbers', { data: noticeWith(''), atm: 'x', priority: 'x', timestamp: 'x' }],
  ['a count of stalls that is no number', { data: noticeWith(''), stc: '1e400' }],
];

const lines = room();
const { redis } = lines;

/** Queues jobs with these fields in Redis, each behind a good notice, for a worker that goes on afterwards. */
async function run(jobs: readonly Readonly<Record<string, string>>[]) {
  const line = await lines.direct();
  const keys = keysOf(line.prefix, 'default');
  const queue = openBullQueue(QUEUE_NAME, redis.client, keys);
  await queue.pause();
  const good = numbers(jobs.length, 1);
  const ids: string[] = [];
  for (const [at, fields] of jobs.entries()) {
    await line.queue.send({ templateCode: 'T', contacts: [{ contact: good[at] ?? '' }] });
    const { id = '' } = await queue.add('send', {});
    await redis.client.hset(keys.noticeJob(id), fields);
    ids.push(id);
  }
  await queue.resume();
  await queue.close();
  /** Waits until each has ended so, and the good ones were sent. */
  const end = async (state: 'rejected' | 'unknown') => {
    const ended = async () => (await redis.client.zcard(keys.endedIn(state))) === ids.length;
    await until(ended, { what: 'the jobs to fail', deadlineMs: 20_000 });
    const areSent = () => acceptedNumbers(line.emulator).length === good.length;
    await until(areSent, { what: 'the others' });
    expect(acceptedNumbers(line.emulator).toSorted()).toEqual(good);
    return readEnded(redis.client, keys, ids);
  };
  return { ...line, keys, ids, end };
}

it('a malformed job fails alone and at once, whatever is wrong with it', async () => {
  const { keys, ids, end, attempts } = await run(MALFORMED.map(([, fields]) => fields));
  const entries = await end('rejected');
  const named = ids.map((id, at) => {
    const { state, code, possiblySent } = entries.find((entry) => entry.id === id) ?? {};
    const logged = attempts().find(({ job }) => job === id)?.['code'];
    return [MALFORMED[at]?.[0], state, code, possiblySent, logged];
  });
  const expected = [`rejected`, 'JOB_INVALID', 0, 'JOB_INVALID'];
  expect(named).toEqual(MALFORMED.map(([what]) => [what, ...expected]));
  await until(async () => (await redis.client.llen(keys.noticesIn('active'))) === 0, {
    what: 'no active job',
  });
  expect(await redis.client.exists(...ids.map((id) => keys.noticeJob(id)))).toBe(0);
});

/** BullMQ's scripts fail at it after they have made the job active: it ends when its lock has, and may have been sent. */
it('a job fails once its lock ends: a count of runs that is no number', async () => {
  const { keys, ids, end } = await run([{ data: noticeWith(''), ats: 'x' }]);
  const [job = ''] = ids.map((id) => keys.noticeJob(id));
  const runs = () => redis.client.hget(job, 'ats');
  await until(async () => (await runs()) !== 'x', { what: 'the count to be set aside' });
  await redis.client.del(`${job}:lock`);
  expect(await end('unknown')).toHaveLength(1);
});
