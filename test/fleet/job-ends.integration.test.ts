import { expect, it } from 'vitest';
import { END_FIELDS, findEnd, rememberEnd, takeBackStall } from '../../src/fleet/job-ends.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();
const END = { kind: 'failed', reason: 'REJECTED' } as const;
const FIRST = { started: 1, sentAgainAt: 0 };

async function newJob(fields: Readonly<Record<string, string>> = {}): Promise<string> {
  const key = redis.freshPrefix();
  await redis.client.hset(key, { name: 'send', ...fields });
  return key;
}

it('the first run after each stall waits before it concludes that nothing is stored', async () => {
  const job = await newJob();
  const ask = (stalls: number) => findEnd(redis.client, job, stalls, 'ask');
  expect(await ask(1)).toBe('wait');
  // The run that waited died.
  expect(await ask(1)).toBe('wait');
  expect(await findEnd(redis.client, job, 1, 'waited')).toBe('none');
  expect(await ask(1)).toBe('none');
  expect(await ask(2)).toBe('wait');
});

it('a stored end is found until it is forgotten', async () => {
  const job = await newJob();
  await rememberEnd(redis.client, job, END, FIRST);
  await rememberEnd(redis.client, job, END, FIRST);
  expect(await findEnd(redis.client, job, 1, 'ask')).toEqual(END);
  expect(await findEnd(redis.client, job, 1, 'ask')).toEqual(END);
  await redis.client.hdel(job, ...END_FIELDS);
  expect(await findEnd(redis.client, job, 1, 'ask')).toBe('wait');
});

it('nothing is stored for a job that is over or gone', async () => {
  const over = await newJob({ finishedOn: '1' });
  const gone = redis.freshPrefix();
  for (const job of [over, gone]) await rememberEnd(redis.client, job, END, FIRST);
  expect(await redis.client.hkeys(over)).toEqual(['name', 'finishedOn']);
  expect(await redis.client.exists(gone)).toBe(0);
});

it.each([
  ['sent again since', '{"sentAgainAt":5}', 0, 'wait'],
  ['sent again before that run', '{"sentAgainAt":5}', 5, END],
  ['sent again once more', '{"sentAgainAt":6}', 5, 'wait'],
  ['never sent again', '0', 0, END],
] as const)(
  'an end belongs to one life of a notice: %s',
  async (_, progress, sentAgainAt, found) => {
    const job = await newJob({ progress });
    await rememberEnd(redis.client, job, END, { started: 1, sentAgainAt });
    expect(await findEnd(redis.client, job, 1, 'ask')).toEqual(found);
  },
);

it('the stall of the run before is taken back once for each run', async () => {
  const job = await newJob({ stc: '2' });
  const back = async (token: string, started: number) => [
    await takeBackStall(redis.client, job, { token, started }),
    await redis.client.hget(job, 'stc'),
  ];
  await rememberEnd(redis.client, job, END, { started: 2, sentAgainAt: 0 });
  await redis.client.set(`${job}:lock`, 'third');
  expect(await back('second', 3)).toEqual(['lost', '2']);
  expect(await back('third', 3)).toEqual(['known', '1']);
  expect(await back('third', 3)).toEqual(['known', '1']);
  // The third one died: it sent nothing.
  await redis.client.hincrby(job, 'stc', 1);
  await redis.client.set(`${job}:lock`, 'fourth');
  expect(await back('fourth', 4)).toEqual(['known', '1']);
  expect(await back('fourth', 6)).toEqual(['counts', '1']);
});
