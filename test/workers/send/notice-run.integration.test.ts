import { afterEach, describe, expect, it } from 'vitest';
import type { JobData } from '../../../src/contracts/job.ts';
import { readHold } from '../../../src/fleet/hold/hold-scripts.ts';
import { settleAgain } from '../../../src/notices/send-again.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
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

  it('sends it as a probe', async () => {
    const { on, notice } = await open();
    await on.holds.place('unreachable', 'SERVICE_UNREACHABLE');
    const isDue = async () => (await redis.client.pttl(on.keys.limiter)) < 0;
    await until(isDue, { what: 'the probe', everyMs: 1 });
    await on.run(notice);
    expect(notice.lines).toMatchObject([{ outcome: 'accepted', probe: true }]);
    expect(await readHold(redis.client, on.keys)).toBeUndefined();
  });

  describe('at most once', () => {
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
  });
});
