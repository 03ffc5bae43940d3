import { afterEach, describe, expect, it } from 'vitest';
import type { JobData } from '../../../src/contracts/job.ts';
import { liftManualHold, placeManualHold, readHold } from '../../../src/fleet/hold/hold-scripts.ts';
import { settleAgain } from '../../../src/notices/send-again.ts';
import { testRedis } from '../../support/redis.ts';
import { signal, until } from '../../support/wait.ts';
import { openRunStage, type RunStage, type TestNotice } from './support/notice-run.ts';

describe('a run of a notice', () => {
  const redis = testRedis();
  let stage: RunStage | undefined;

  afterEach(async () => {
    await stage?.close();
    stage = undefined;
  });

  async function open(
    ...args: Parameters<typeof openRunStage> extends [unknown, ...infer Rest] ? Rest : never
  ) {
    const on = await openRunStage(redis, ...args);
    stage = on;
    return { on, notice: await on.notice('010001') };
  }

  const outcomes = ({ lines }: TestNotice) => lines.map(({ outcome }) => outcome);
  const begun = async ({ keys }: RunStage) =>
    (await redis.client.hkeys(keys.history)).filter((field) => field.startsWith('intent:'));
  const listed = ({ keys }: RunStage) => redis.client.zrange(keys.endedIn('unknown'), '0', '-1');

  it('sends it in a request of its own', async () => {
    const { on, notice } = await open();
    await on.run(notice);
    expect(outcomes(notice)).toEqual(['accepted']);
    expect(on.emulator.record()).toMatchObject({ requests: 1, contacts: 1, twice: 0 });
    expect(on.emulator.details()).toMatchObject([{ vars: { var1: 'for 010001' } }]);
    expect(on.left).toEqual(['accepted']);
  });

  it('of one that was sent again removes its end before, also where the process died that did it', async () => {
    const { on } = await open();
    const again = await on.notice('010002', { earlier: { possiblySent: 0 } });
    const { ended, endedIn } = on.keys;
    const entry = { at: 1, state: 'rejected', code: 'BAD', template: 'T', contacts: 1 };
    const text = JSON.stringify({ ...entry, attempts: 1, possiblySent: 0 });
    await redis.client.hset(ended, again.id, text);
    await redis.client.zadd(endedIn('again'), 1, again.id);
    await on.run(again);
    expect(outcomes(again)).toEqual(['accepted']);
    // As BullMQ does with an accepted job that is not kept.
    await redis.client.del(on.keys.noticeJob(again.id));
    await settleAgain(redis.client, on.keys, 0);
    expect(await redis.client.exists(ended, endedIn('again'), endedIn('rejected'))).toBe(0);
  });

  it('counts an error of the program that keeps its request from being made', async () => {
    const { on, notice } = await open();
    const { contacts } = (notice.job.data as JobData).notice;
    Object.assign(contacts[0] ?? {}, {
      toJSON: () => {
        throw new TypeError('this contact cannot be written');
      },
    });
    await on.run(notice);
    expect(notice.lines).toMatchObject([
      { outcome: 'retry', code: 'INTERNAL_ERROR', counted: true },
    ]);
    expect(on.emulator.record().requests).toBe(0);
  });

  it('makes no request where its lock is lost while it waits for a token, and leaves the gate as it was', async () => {
    const { on, notice } = await open();
    on.beforeToken = () => {
      notice.isLost = true;
      return Promise.resolve();
    };
    await on.run(notice);
    expect(outcomes(notice)).toEqual(['returned']);
    expect(on.left).toEqual(['nothing']);
    expect(on.emulator.record().requests).toBe(0);
  });

  it('ends it as expired where its deadline passes between its two requests', async () => {
    const { on } = await open();
    const soon = Date.now() + 1_000;
    const late = await on.notice('010009', { expiresAt: soon });
    on.emulator.addFault({ on: 'send', status: 401, times: 1 });
    let asked = 0;
    on.beforeToken = async () => {
      asked++;
      if (asked === 2) await until(() => Date.now() >= soon, { what: 'the deadline', everyMs: 5 });
    };
    await on.run(late);
    expect(late.lines).toMatchObject([{ outcome: 'expired', status: 401, requests: 1 }]);
    expect([...on.emulator.contacts()]).toEqual([]);
  });

  it('counts a refused request, and no resend, where it may not be sent a second time', async () => {
    const { on } = await open();
    const expiresAt = Date.now() + 1_000;
    const late = await on.notice('010009', { expiresAt, unknown: ['t-1'] });
    on.emulator.addFault({ on: 'send', status: 401, times: 1 });
    let asked = 0;
    on.beforeToken = async () => {
      asked++;
      if (asked === 2) await until(() => Date.now() >= expiresAt, { what: 'the deadline' });
    };
    await on.run(late);
    expect(late.lines).toMatchObject([
      { outcome: 'unknown', possiblySent: 1, status: 401, requests: 1 },
    ]);
    expect(on.twice).toBe(0);
  });

  it('that is stopped between its two requests reports the first', async () => {
    const { on, notice } = await open();
    on.emulator.addFault({ on: 'send', status: 401, times: 1 });
    let asked = 0;
    on.beforeToken = () => {
      asked++;
      if (asked === 2) on.stopping.abort();
      return Promise.resolve();
    };
    await on.run(notice);
    expect(notice.lines).toMatchObject([
      { outcome: 'retry', counted: false, status: 401, requests: 1 },
    ]);
  });

  it('makes no request while the queue is held, or when the worker stops', async () => {
    const { on, notice } = await open();
    await placeManualHold(redis.client, on.keys, 'for a test');
    on.holds.forget();
    await on.run(notice);
    expect(on.left).toEqual([]);
    await liftManualHold(redis.client, on.keys);
    on.beforeToken = () => {
      on.stopping.abort();
      return Promise.resolve();
    };
    await on.run(notice);
    expect(outcomes(notice)).toEqual(['returned', 'returned']);
    expect(on.emulator.record().requests).toBe(0);
  });

  it('sends it as a probe', async () => {
    const { on, notice } = await open();
    await on.holds.place('unreachable', 'SERVICE_UNREACHABLE');
    const isDue = async () => (await redis.client.pttl(on.keys.limiter)) < 0;
    await until(isDue, { what: 'the probe', everyMs: 1 });
    await on.run(notice);
    expect(notice.lines).toMatchObject([{ outcome: 'accepted', probe: true }]);
    expect(await readHold(redis.client, on.keys)).toBeUndefined();
  });

  it('that meets a hold spends no attempt', async () => {
    const { on, notice } = await open();
    on.emulator.addFault({ on: 'send', status: 402 });
    await on.run(notice);
    expect(notice.lines).toMatchObject([{ outcome: 'hold', hold: 'credit' }]);
    expect(await readHold(redis.client, on.keys)).toMatchObject({ kind: 'credit' });
  });

  it('that is refused once by a 401 is sent again with another token, once', async () => {
    const { on, notice } = await open();
    on.emulator.addFault({ on: 'send', status: 401, times: 1 });
    await on.run(notice);
    expect(notice.lines).toMatchObject([
      { outcome: 'accepted', requests: 2, refused: [{ status: 401 }] },
    ]);
  });

  it('whose answer is lost is unknown', async () => {
    const { on, notice } = await open();
    on.emulator.addFault({ on: 'send', reset: 'after-acting', times: 1 });
    await on.run(notice);
    expect(outcomes(notice)).toEqual(['unknown']);
    expect(on.left).toEqual(['unknown']);
  });

  describe('at most once', () => {
    const EARLIER = { nonce: 'earlier' };

    it('records its intent in one round trip before the request, and its end in one', async () => {
      const { on, notice } = await open('at-most-once');
      const monitor = await redis.client.monitor();
      let scripts = 0;
      monitor.on('monitor', (_time: string, [command, , , key]: string[]) => {
        if (command?.toLowerCase() === 'evalsha' && key === on.keys.history) scripts += 1;
      });
      await on.run(notice);
      await until(() => scripts >= 2, { what: 'both scripts' });
      monitor.disconnect();
      expect(scripts).toBe(2);
      expect(outcomes(notice)).toEqual(['accepted']);
    });

    it('makes no request for what an earlier run has begun, had accepted or has lost', async () => {
      const { on, notice: first } = await open('at-most-once');
      const [second, third] = [await on.notice('010002'), await on.notice('010003')];
      const attempts = [first, second].map(({ id }) => ({ ...EARLIER, job: id }));
      for (const attempt of attempts) await on.intents.begin(attempt, 'lock', 'earlier');
      await on.intents.end({ ...EARLIER, job: second.id }, 'accepted');
      await redis.client.set(on.keys.noticeLock(third.id), 'of another worker');
      for (const notice of [first, second, third]) await on.run(notice);
      expect([first, second, third].flatMap(outcomes)).toEqual(['unknown', 'accepted', 'returned']);
      expect(on.emulator.record().requests).toBe(0);
      expect(await listed(on)).toEqual([first.id]);
    });

    it('makes no request when Redis fails at the intent, and takes back what it may have recorded', async () => {
      const { on, notice } = await open('at-most-once');
      const begin = on.intents.begin.bind(on.intents);
      on.intents.begin = async (...args) => {
        await begin(...args);
        throw new Error('the answer was lost on the way');
      };
      await on.run(notice);
      expect(outcomes(notice)).toEqual(['returned']);
      expect(on.emulator.record().requests).toBe(0);
      expect(await begun(on)).toEqual([]);
    });

    it('whose answer is lost is listed as unknown', async () => {
      const { on, notice } = await open('at-most-once');
      on.emulator.addFault({ on: 'send', hang: 'after-acting', times: 1 });
      await on.run(notice);
      expect(outcomes(notice)).toEqual(['unknown']);
      expect(await listed(on)).toEqual([notice.id]);
      expect(await begun(on)).toEqual([]);
    });

    it('takes its intent back where nothing was taken, or where it is lost after that was recorded', async () => {
      const { on, notice } = await open('at-most-once');
      on.emulator.addFault({ on: 'send', status: 429, times: 1 });
      await on.run(notice);
      expect(await begun(on)).toEqual([]);
      const lost = await on.notice('010011');
      const begin = on.intents.begin.bind(on.intents);
      on.intents.begin = async (...args) => {
        const verdicts = await begin(...args);
        lost.isLost = true;
        return verdicts;
      };
      await on.run(lost);
      expect(outcomes(lost)).toEqual(['returned']);
      expect(await begun(on)).toEqual([]);
    });

    it('does not end before its intent has ended', async () => {
      const { on, notice } = await open('at-most-once');
      const end = on.intents.end.bind(on.intents);
      const opened = signal();
      let ends = 0;
      on.intents.end = async (attempts, as) => {
        ends += 1;
        await opened.promise;
        await end(attempts, as);
      };
      let hasEnded = false;
      const run = on.run(notice).then(() => {
        hasEnded = true;
      });
      await until(() => ends === 1, { what: 'the end of the intent', everyMs: 5 });
      // Time for whatever does not wait for that end: a round trip to Redis.
      await redis.client.ping();
      expect(hasEnded).toBe(false);
      opened.resolve();
      await run;
      expect(outcomes(notice)).toEqual(['accepted']);
    });

    it('past its deadline asks whether an earlier attempt was taken', async () => {
      const { on } = await open('at-most-once');
      const late = await on.notice('010021', { expiresAt: Date.now() - 1 });
      const known = await on.notice('010022', { expiresAt: Date.now() - 1 });
      await on.intents.begin({ ...EARLIER, job: known.id }, 'lock', 'earlier');
      for (const notice of [late, known]) await on.run(notice);
      expect([late, known].flatMap(outcomes)).toEqual(['expired', 'unknown']);
      expect(on.emulator.record().requests).toBe(0);
      expect(await begun(on)).toEqual([]);
    });
  });
});
