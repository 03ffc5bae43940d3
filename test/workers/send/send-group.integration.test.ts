import { afterEach, describe, expect, it } from 'vitest';
import { openGroupStage, type GroupStage, type TestNotice } from './support/group.ts';
import { testRedis } from '../../support/redis.ts';
import { signal, until, type Signal } from '../../support/wait.ts';

const NUMBERS = ['010001', '010002', '010003', '010004'];

describe('a group', () => {
  const redis = testRedis();
  let stage: GroupStage | undefined;

  afterEach(async () => {
    await stage?.close();
    stage = undefined;
  });

  async function open(
    ...args: Parameters<typeof openGroupStage> extends [unknown, ...infer Rest] ? Rest : never
  ) {
    const on = await openGroupStage(redis, ...args);
    stage = on;
    const group: TestNotice[] = [];
    for (const number of NUMBERS) group.push(await on.notice(number));
    const [first, second, third, fourth] = group;
    if (!first || !second || !third || !fourth) throw new Error('the group is not whole');
    return { on, group, first, second, third, fourth };
  }

  const outcomes = (group: readonly TestNotice[]) =>
    group.map(({ ends }) => ends.map(({ outcome }) => outcome?.kind ?? 'gone back').join());
  const accepted = ({ emulator }: GroupStage) =>
    [...emulator.contacts()].map(({ contact }) => contact);
  const begun = ({ keys }: GroupStage) => redis.client.hkeys(keys.intents.open);

  it('goes in one request, and each notice is told the same answer', async () => {
    const { on, group } = await open();
    expect(await on.send(group)).toEqual([]);
    expect(on.emulator.record()).toMatchObject({ requests: 1, contacts: 4, twice: 0 });
    expect(on.emulator.details().map(({ vars }) => vars['var1'])).toEqual(
      NUMBERS.map((number) => `for ${number}`),
    );
    for (const { ends } of group) {
      expect(ends).toMatchObject([
        { outcome: { kind: 'accepted', confirmed: true }, together: 4, answer: { status: 200 } },
      ]);
    }
    expect(on.left).toEqual(['accepted']);
  });

  it('is split when an error of the program keeps its request from being made', async () => {
    const { on, group, second } = await open();
    Object.assign(second.data.notice.contacts[0] ?? {}, {
      toJSON: () => {
        throw new TypeError('this contact cannot be written');
      },
    });
    for (const part of await on.send(group)) await on.sendPart(part);
    expect(outcomes(group)).toEqual(['accepted', 'retry', 'accepted', 'accepted']);
    expect(second.ends).toMatchObject([{ outcome: { code: 'INTERNAL_ERROR', counted: true } }]);
    expect(accepted(on)).toEqual(['010001', '010003', '010004']);
    expect(on.emulator.record()).toMatchObject({ requests: 3, twice: 0 });
  });

  it('leaves out whose lock is lost while it waits for a token, and sends the others', async () => {
    const { on, group, second } = await open();
    on.beforeToken = () => {
      second.isLost = true;
      return Promise.resolve();
    };
    await on.send(group);
    expect(outcomes(group)).toEqual(['accepted', 'gone back', 'accepted', 'accepted']);
    expect(accepted(on)).toEqual(['010001', '010003', '010004']);
    expect(on.emulator.record()).toMatchObject({ requests: 1 });
  });

  it('leaves out whose deadline passes before the request, also before the second one', async () => {
    const { on, group } = await open();
    const soon = Date.now() + 200;
    const late = await on.notice('010009', { expiresAt: soon });
    on.emulator.addFault({ on: 'send', status: 401, times: 1 });
    let asked = 0;
    on.beforeToken = async () => {
      asked++;
      // The one that is renewed comes too late for it.
      if (asked === 2) await until(() => Date.now() >= soon, { what: 'the deadline', everyMs: 5 });
    };
    await on.send([...group, late]);
    expect(outcomes([...group, late])).toEqual([
      'accepted',
      'accepted',
      'accepted',
      'accepted',
      'expired',
    ]);
    expect(accepted(on)).toEqual(NUMBERS);
  });

  it('counts a refused request with the notice that may not be sent a second time, and no resend', async () => {
    const { on } = await open();
    const expiresAt = Date.now() + 200;
    const failedReason = 'HTTP_500 (may have been taken: 1)';
    const late = await on.notice('010009', { expiresAt, failedReason });
    on.emulator.addFault({ on: 'send', status: 401, times: 1 });
    let asked = 0;
    on.beforeToken = async () => {
      asked++;
      if (asked === 2) await until(() => Date.now() >= expiresAt, { what: 'the deadline' });
    };
    await on.send([late]);
    expect(late.ends).toMatchObject([
      { outcome: { kind: 'unknown', earlier: true }, answer: { status: 401, requests: 1 } },
    ]);
    expect(on.twice).toBe(0);
  });

  it('that is stopped between its two requests reports the first', async () => {
    const { on, group } = await open();
    on.emulator.addFault({ on: 'send', status: 401, times: 1 });
    let asked = 0;
    on.beforeToken = () => {
      asked++;
      if (asked === 2) on.stopping.abort();
      return Promise.resolve();
    };
    await on.send(group);
    expect(outcomes(group)).toEqual(Array.from(group, () => 'gone back'));
    expect(group[0]?.ends).toMatchObject([{ answer: { status: 401, requests: 1 } }]);
    const counted = group.filter(({ ends }) => ends[0]?.counted !== false);
    expect(counted).toHaveLength(1);
  });

  it('of which nobody is left makes no request, and leaves the gate as it was', async () => {
    const { on, group } = await open();
    on.beforeToken = () => {
      for (const notice of group) notice.isLost = true;
      return Promise.resolve();
    };
    await on.send(group);
    expect(outcomes(group)).toEqual(Array.from(group, () => 'gone back'));
    expect(on.left).toEqual(['abandoned']);
    expect(on.emulator.record().requests).toBe(0);
  });

  it('goes back as a whole while the queue is held, or when the worker stops', async () => {
    const { on, group } = await open();
    on.passage = undefined;
    await on.send(group);
    expect(outcomes(group)).toEqual(Array.from(group, () => 'gone back'));
    const { on: other, group: others } = await open();
    other.beforeToken = () => {
      other.stopping.abort();
      return Promise.resolve();
    };
    await other.send(others);
    expect(outcomes(others)).toEqual(Array.from(others, () => 'gone back'));
    expect(other.emulator.record().requests).toBe(0);
    await other.close();
    stage = on;
  });

  it('sends one notice as a probe and lets the others go back', async () => {
    const { on, group } = await open();
    if (on.passage !== undefined) on.passage = { ...on.passage, probe: 'nonce' };
    await on.send(group);
    expect(outcomes(group)).toEqual(['accepted', 'gone back', 'gone back', 'gone back']);
    expect(group[0]?.ends[0]).toMatchObject({ probe: true, together: 1 });
    expect(on.left).toEqual(['accepted']);
  });

  it('that meets a hold goes back unspent, the last first, to stand as it stood', async () => {
    const { on, group } = await open();
    on.emulator.addFault({ on: 'send', status: 402 });
    const order: string[] = [];
    const watched = group.map((notice) => ({ ...notice, end: () => order.push(notice.id) }));
    await on.send(watched);
    expect(order).toEqual(NUMBERS.map((number) => `n-${number}`).toReversed());
    expect(on.left).toEqual(['credit']);
  });

  it('that is refused goes on in parts, and only who spoils it is rejected', async () => {
    const { on, group } = await open('at-least-once', { rejectContacts: ['010003'] });
    const waiting = await on.send(group);
    for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
      waiting.unshift(...(await on.sendPart(part)));
    }
    expect(outcomes(group)).toEqual(['accepted', 'accepted', 'rejected', 'accepted']);
    expect(group[2]?.ends).toMatchObject([
      { outcome: { code: 'INVALID_CONTACT' }, together: 1, answer: { status: 400 } },
    ]);
    // All, its two halves, and the two of the half that was refused.
    const counted = group.flatMap(({ ends }) => ends).filter((end) => end.counted !== false);
    const requests = counted.map(
      ({ answer, uncounted = 0 }) => (answer?.requests ?? 0) + uncounted,
    );
    expect(requests.reduce((sum, count) => sum + count)).toBe(5);
    expect(on.emulator.record()).toMatchObject({ distinct: 3, twice: 0 });
    expect(on.lines.filter(({ event }) => event === 'group-refused')).toMatchObject([
      { notices: 4, code: 'INVALID_CONTACT', status: 400 },
      { notices: 2 },
    ]);
  });

  it.each(['their locks are lost', 'the queue is held'])(
    'that is refused counts its request also where its parts may not go on: %s',
    async (why) => {
      const { on, group } = await open('at-least-once', { rejectContacts: ['010003'] });
      const parts = await on.send(group);
      if (why === 'the queue is held') on.passage = undefined;
      else for (const notice of group) notice.isLost = true;
      for (const part of parts) await on.sendPart(part);
      expect(outcomes(group)).toEqual(Array.from(group, () => 'gone back'));
      const uncounted = group.map(({ ends }) => ends[0]?.uncounted ?? 0);
      expect(uncounted).toEqual([1, 0, 0, 0]);
    },
  );

  it('that is refused once by a 401 is sent again with another token, once', async () => {
    const { on, group } = await open();
    on.emulator.addFault({ on: 'send', status: 401, times: 1 });
    await on.send(group);
    expect(outcomes(group)).toEqual(Array.from(group, () => 'accepted'));
    expect(group[0]?.ends[0]?.answer).toMatchObject({ requests: 2, refused: [{ status: 401 }] });
  });

  it('whose answer is lost is unknown for each', async () => {
    const { on, group } = await open();
    on.emulator.addFault({ on: 'send', reset: 'after-acting', times: 1 });
    await on.send(group);
    expect(outcomes(group)).toEqual(Array.from(group, () => 'unknown'));
    expect(on.left).toEqual(['unknown']);
  });

  describe('sent at most once', () => {
    it('records all intents in one round trip before the request, and their ends in one', async () => {
      const { on, group } = await open('at-most-once');
      const monitor = await redis.client.monitor();
      // Notices in each script on intents: behind the keys and three arguments each takes three.
      const scripts: number[] = [];
      monitor.on('monitor', (_time: string, [command, , , key, ...others]: string[]) => {
        if (command?.toLowerCase() !== 'evalsha' || key !== on.keys.intents.open) return;
        scripts.push((others.length - 6) / 3);
      });
      await on.send(group);
      await until(() => scripts.length >= 2, { what: 'both scripts' });
      monitor.disconnect();
      expect(scripts).toEqual([4, 4]);
      expect(outcomes(group)).toEqual(Array.from(group, () => 'accepted'));
    });

    it('leaves out what an earlier run has begun, had accepted or has lost, each with its outcome', async () => {
      const { on, group, first, second, third } = await open('at-most-once');
      const earlier = { nonce: 'earlier', lockToken: 'lock' };
      const attempts = [first, second].map(({ id }) => ({ ...earlier, job: id }));
      await on.intents.begin(attempts, 'earlier');
      await on.intents.end(attempts.slice(1), 'accepted');
      await redis.client.set(on.keys.noticeLock(third.id), 'of another worker');
      await on.send(group);
      expect(outcomes(group)).toEqual(['unknown', 'accepted', 'gone back', 'accepted']);
      expect(accepted(on)).toEqual(['010004']);
      expect(await redis.client.hkeys(on.keys.intents.unknown)).toEqual([first.id]);
    });

    it('makes no request when Redis fails at the intents, and takes back what it may have recorded', async () => {
      const { on, group } = await open('at-most-once');
      const begin = on.intents.begin.bind(on.intents);
      on.intents.begin = async (...args) => {
        await begin(...args);
        throw new Error('the answer was lost on the way');
      };
      await on.send(group);
      expect(outcomes(group)).toEqual(Array.from(group, () => 'gone back'));
      expect(on.emulator.record().requests).toBe(0);
      expect(await begun(on)).toEqual([]);
    });

    it('whose answer is lost is listed as unknown, each', async () => {
      const { on, group } = await open('at-most-once');
      on.emulator.addFault({ on: 'send', hang: 'after-acting', times: 1 });
      await on.send(group);
      expect(outcomes(group)).toEqual(Array.from(group, () => 'unknown'));
      expect((await redis.client.hkeys(on.keys.intents.unknown)).toSorted()).toEqual(
        group.map(({ id }) => id),
      );
      expect(await begun(on)).toEqual([]);
    });

    it('takes its intents back where nothing was taken', async () => {
      const { on, group, second } = await open('at-most-once');
      on.emulator.addFault({ on: 'send', status: 429, times: 1 });
      await on.send(group);
      expect(await begun(on)).toEqual([]);
      // Recorded, and then one of them may not go: the others do.
      const others = [await on.notice('010011'), await on.notice('010012')];
      const [lost] = others;
      const begin = on.intents.begin.bind(on.intents);
      on.intents.begin = async (...args) => {
        const verdicts = await begin(...args);
        if (lost !== undefined) lost.isLost = true;
        return verdicts;
      };
      await on.send(others);
      expect(outcomes(others)).toEqual(['gone back', 'accepted']);
      expect(await begun(on)).toEqual([others[1]?.id]);
      expect(second.ends).toHaveLength(1);
    });

    it('that is refused keeps its intents until each part has ended, and takes them back on a stop', async () => {
      const { on, group } = await open('at-most-once', { rejectContacts: ['010003'] });
      const parts = await on.send(group);
      expect(parts.map(({ notices }) => notices.length)).toEqual([2, 2]);
      expect((await begun(on)).toSorted()).toEqual(group.map(({ id }) => id));
      const [head, tail] = parts;
      await on.sendPart(head ?? { notices: [], isPart: true });
      expect(outcomes(group.slice(0, 2))).toEqual(['accepted', 'accepted']);
      on.stopping.abort();
      await on.sendPart(tail ?? { notices: [], isPart: true });
      expect(outcomes(group.slice(2))).toEqual(['gone back', 'gone back']);
      expect((await begun(on)).toSorted()).toEqual(group.slice(0, 2).map(({ id }) => id));
    });

    it('ends no notice before its intent has ended', async () => {
      const { on, group, first } = await open('at-most-once');
      const late = await on.notice('010031', { expiresAt: Date.now() - 1 });
      const end = on.intents.end.bind(on.intents);
      const held: { as: string; opened: Signal<void> }[] = [];
      on.intents.end = async (attempts, as) => {
        const opened = signal();
        held.push({ as, opened });
        await opened.promise;
        await end(attempts, as);
      };
      // Time for whatever does not wait for that end: a round trip to Redis.
      const heldAt = async (count: number) => {
        await until(() => held.length >= count, { what: 'the end of the intents', everyMs: 5 });
        await redis.client.ping();
      };
      const sent = on.send([...group, late]);
      await heldAt(1);
      expect(outcomes([...group, late])).toEqual(['', '', '', '', '']);
      expect(on.emulator.record().requests).toBe(0);
      held[0]?.opened.resolve();
      await heldAt(2);
      expect(on.emulator.record().requests).toBe(1);
      expect(outcomes([...group, late])).toEqual(['', '', '', '', 'expired']);
      expect(on.left).toEqual([]);
      held[1]?.opened.resolve();
      await sent;
      expect(held.map(({ as }) => as)).toEqual(['back', 'accepted']);
      expect(outcomes(group)).toEqual(Array.from(group, () => 'accepted'));
      expect(first.ends).toHaveLength(1);
    });

    it('past its deadline asks whether an earlier attempt was taken', async () => {
      const { on, first } = await open('at-most-once');
      const late = await on.notice('010021', { expiresAt: Date.now() - 1 });
      const known = await on.notice('010022', { expiresAt: Date.now() - 1 });
      const earlier = { job: known.id, nonce: 'earlier', lockToken: 'lock' };
      await on.intents.begin([earlier], 'earlier');
      await on.send([late, first, known]);
      expect(outcomes([late, first, known])).toEqual(['expired', 'accepted', 'unknown']);
      expect(accepted(on)).toEqual(['010001']);
      expect(await begun(on)).toEqual([first.id]);
    });
  });
});
