import { Worker } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NoticeAdmin } from '../../src/admin/index.ts';
import { NoticeQueue, type NoticeQueueOptions } from '../../src/index.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { errorOf, run } from '../cli/support/run.ts';
import { startReceiver } from '../events/support/receiver.ts';
import { startOps } from '../ops/web/support/ops-bench.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';

const redis = testRedis();
const NOTICE = { templateCode: 'ORDER', contacts: [{ contact: '01000000001' }] };
const WHY = { why: 'a question' };

function queueOf(options: NoticeQueueOptions): NoticeQueue {
  const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), ...options });
  onTestFinished(() => queue.close());
  return queue;
}

/** One account for a program, over HTTP and on the command line. */
async function open() {
  const prefix = redis.freshPrefix();
  const queue = queueOf({ prefix });
  const admin = new NoticeAdmin({ redis: connectionAs('ops', redis.url), prefix, who: 'billing' });
  const operator = (await startOps(redis.url, prefix)).key('operator');
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const cli = async (...args: string[]) => {
    const ended = await run([...args, '--json'], env);
    if (ended.stderr === '') return [ended.code, JSON.parse(ended.stdout) as unknown];
    const { code, message } = errorOf(ended);
    return [ended.code, code, message];
  };
  /** What the three answer to a look-up, a cancel and a redrive. */
  const answersTo = async (id: string) => {
    const path = `/api/v1/notices/${encodeURIComponent(id)}`;
    const redrive = { ids: [id], ...WHY };
    return {
      library: [
        await said(queue.get(id)),
        await said(queue.cancel(id)),
        await said(admin.run('redrive', { ids: [id] })),
      ],
      http: [
        replied(await operator.get(path)),
        replied(await operator.post(`${path}/cancel`, WHY)),
        replied(await operator.post('/api/v1/failed-notices/redrive', redrive)),
      ],
      cli: [await cli('show', id), await cli('cancel', id), await cli('redrive', id, '--yes')],
    };
  };
  return { prefix, queue, answersTo };
}

const said = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    const { code, message } = error as { code: string; message: string };
    return [code, message];
  });

function replied({
  status,
  json,
}: {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}): unknown[] {
  return status < 400 ? [status, json] : [status, json['code'], json['issues'] ?? json['detail']];
}

const NOT_REDRIVEN = { done: 0, contacts: 0, late: 0, gone: 1, left: 0 };

const notKept = (id: string) => ({
  shown: { id, state: 'not-kept', contacts: 0, attempts: 0, possiblySent: 0 },
  cancelled: { id, cancelled: false, answer: 'not-kept' },
});

const NOTHING =
  'Nothing with this name exists (it may have been deleted). Check the id; finished batches and notices are deleted after their retention.';

/** What sends again says of it, a command that is made from its operation. */
const NO_BATCH_TO_REDRIVE = (id: string) =>
  /^[\w-]{1,64}$/.test(id)
    ? [
        1,
        'NOT_FOUND',
        `No batch named "${id}" (it may have been deleted). "notices batches" lists all batches. Check the id; finished batches and notices are deleted after their retention.`,
      ]
    : [2, 'USAGE', '<id>: expected 1 to 64 letters, digits, hyphens or underscores'];

/** Ids of this package begin with `n-`; on the command line any other may be that of a batch. */
const ofNotice = (id: string) => {
  const { shown, cancelled } = notKept(id);
  return {
    library: [shown, cancelled, NOT_REDRIVEN],
    http: [
      [200, shown],
      [200, cancelled],
      [200, NOT_REDRIVEN],
    ],
    cli: [
      [1, shown],
      [1, cancelled],
      [1, NOT_REDRIVEN],
    ],
  };
};

const ofAny = (id: string) => ({
  ...ofNotice(id),
  cli: [[1, notKept(id).shown], [1, notKept(id).cancelled], NO_BATCH_TO_REDRIVE(id)],
});

const UNREADABLE = (problem: string) =>
  `id: ${problem}. Fix the fields listed above and call again.`;

const refused = (problem: string) => {
  const told = ['NOTICE_INVALID', UNREADABLE(problem)];
  const inBody = (field: string) => [400, 'REQUEST_INVALID', [{ field, problem }]];
  return {
    library: [
      told,
      told,
      [
        'REQUEST_INVALID',
        `ids[0]: ${problem}. Fix the fields listed above; docs/openapi.json describes valid requests.`,
      ],
    ],
    http: [inBody('id'), inBody('id'), inBody('ids[0]')],
    cli: [
      [2, 'USAGE', `<id>: ${problem}`],
      [2, 'USAGE', `<id>: ${problem}`],
    ],
  };
};

describe('an id that is not kept', () => {
  it.each(['n-AAAAAAAAAAAAAAAA', 'n-a/b:c', 'n-../../x', 'n-a\0b', 'n-한국어 "id" <b>', 'n-%00'])(
    '%j: the same in a program, over HTTP and on the command line',
    async (id) => {
      const { answersTo } = await open();
      expect(await answersTo(id)).toEqual(ofNotice(id));
    },
  );

  it.each(['wait', 'a/b:c', '../../etc/passwd', '\0', '한국어 "id"', 'x'.repeat(200)])(
    '%j: on the command line it may be the name of a batch',
    async (id) => {
      const { answersTo } = await open();
      expect(await answersTo(id)).toEqual(ofAny(id));
    },
  );

  it('of another account', async () => {
    const { prefix, answersTo } = await open();
    const other = queueOf({ prefix, account: 'other' });
    const { id } = await other.send(NOTICE);
    expect(await answersTo(id)).toEqual(ofNotice(id));
    expect(await other.get(id)).toMatchObject({ state: 'pending' });
  });

  it('of two dots: clients resolve it as a part of the path before they send it', async () => {
    const { answersTo } = await open();
    const { http, ...rest } = await answersTo('..');
    const { library, cli } = ofAny('..');
    expect(rest).toEqual({ library, cli });
    const none = [404, 'NOT_FOUND', NOTHING];
    expect(http).toEqual([none, none, [200, NOT_REDRIVEN]]);
  });
});

describe('what is no id', () => {
  it.each([
    ['empty', '', 'expected an id, got an empty string', NO_BATCH_TO_REDRIVE('')],
    [
      'too long',
      `n-${'x'.repeat(199)}`,
      'expected at most 200 characters',
      [2, 'USAGE', '<ids[0]>: expected at most 200 characters'],
    ],
  ])('%s', async (_, id, problem, redriven) => {
    const { answersTo } = await open();
    const { cli, ...rest } = refused(problem);
    expect(await answersTo(id)).toEqual({ ...rest, cli: [...cli, redriven] });
  });
});

it('what is cancelled is cancelled, however often and wherever it is asked for', async () => {
  const { queue, answersTo } = await open();
  const { id } = await queue.send(NOTICE, { delay: 3_600_000 });
  const cancelled = { id, cancelled: true, answer: 'cancelled' };
  for (let time = 0; time < 2; time += 1) {
    const { library, http, cli } = await answersTo(id);
    expect([library[1], http[1], cli[1]]).toEqual([cancelled, [200, cancelled], [0, cancelled]]);
    expect([library[2], http[2], cli[2]]).toEqual([
      NOT_REDRIVEN,
      [200, NOT_REDRIVEN],
      [1, NOT_REDRIVEN],
    ]);
  }
  expect(await queue.get(id)).toMatchObject({ state: 'cancelled', attempts: 0 });
});

it('what is being sent is neither cancelled nor sent again', async () => {
  const { prefix, queue, answersTo } = await open();
  const { id } = await queue.send(NOTICE);
  const keys = keysOf(prefix, 'default');
  const worker = new Worker(QUEUE_NAME, undefined, {
    connection: redis.connect({ name: 'taker', forWorker: true }),
    prefix: keys.bullPrefix,
    autorun: false,
  });
  onTestFinished(() => worker.close());
  expect((await worker.getNextJob('token'))?.id).toBe(id);
  const stored = await redis.client.hgetall(keys.noticeJob(id));
  const shown: unknown = expect.objectContaining({ id, state: 'sending', attempts: 0 });
  const sending = { id, cancelled: false, answer: 'sending' };
  expect(await answersTo(id)).toEqual({
    library: [shown, sending, NOT_REDRIVEN],
    http: [
      [200, shown],
      [200, sending],
      [200, NOT_REDRIVEN],
    ],
    cli: [
      [0, shown],
      [1, sending],
      [1, NOT_REDRIVEN],
    ],
  });
  // It runs once, and is as it was.
  expect(await redis.client.lrange(keys.noticesIn('active'), 0, -1)).toEqual([id]);
  expect(await redis.client.llen(keys.noticesIn('wait'))).toBe(0);
  expect(await redis.client.hgetall(keys.noticeJob(id))).toEqual(stored);
});

it('a webhook that never answers: notices events test says so, and ends', async () => {
  const receiver = await startReceiver();
  receiver.answer(() => {});
  const ended = await run(['events', 'test'], {
    REDIS_URL: redis.url,
    REDIS_PREFIX: redis.freshPrefix(),
    EVENT_WEBHOOK_URL: receiver.url,
    EVENT_WEBHOOK_SECRET: 'a secret of sixteen',
  });
  expect(ended).toEqual({
    code: 1,
    stdout:
      'The receiver did not accept it (UND_ERR_HEADERS_TIMEOUT). Check EVENT_WEBHOOK_URL and its secret at the receiver.\n',
    stderr: '',
  });
  expect(receiver.received).toHaveLength(1);
});
