import { afterEach, describe, expect, it } from 'vitest';
import type { JobData } from '../../../src/contracts/job.ts';
import type { EndedEntry } from '../../../src/notices/ended.ts';
import { testRedis } from '../../support/redis.ts';
import { openRunStage, type RunStage, type TestNotice } from './support/notice-run.ts';

/** Of an answer with a result for each contact: it left the notice, and later requests do not contain it. */
const LEFT = { contact: { contact: '010009' }, state: 'unknown', code: 'NOT_IN_RESULTS' } as const;
const [OTHER, LOCK] = ['010001', 'lock'];

describe('an unknown contact of a notice whose others are tried again is listed', () => {
  const redis = testRedis();
  let stage: RunStage | undefined;

  afterEach(async () => {
    await stage?.close();
    stage = undefined;
  });

  async function open(delivery?: 'at-most-once') {
    const on = await openRunStage(redis, delivery);
    stage = on;
    const listed = async ({ id }: TestNotice) =>
      JSON.parse((await redis.client.hget(on.keys.ended, id)) ?? '{}') as EndedEntry;
    return { on, listed };
  }

  /** Of the entry, where it has ended. */
  const keptNumbers = async ({ id }: TestNotice) => {
    const entry = (await redis.client.hget(stage?.keys.ended ?? '', id)) ?? '{}';
    const { notice } = JSON.parse((JSON.parse(entry) as EndedEntry).data ?? '') as JobData;
    return notice.contacts.map(({ contact }) => contact);
  };

  it('when a worker died while it sent to the others: all are unknown', async () => {
    const { on, listed } = await open('at-most-once');
    const settled = [{ ...LEFT, possiblySent: 1, traceIds: ['t-1'] }];
    const notice = await on.notice(OTHER, { settled });
    await on.intents.begin({ job: notice.id, nonce: 'of the dead' }, LOCK, 'worker');
    await on.run(notice);
    expect(notice.lines).toMatchObject([{ outcome: 'unknown' }]);
    expect(await keptNumbers(notice)).toEqual(['010009', OTHER]);
    expect(await listed(notice)).toMatchObject({ contacts: 2, possiblySent: 1 });
    expect(on.emulator.record()).toMatchObject({ requests: 0 });
  });

  it.each([
    ['was possibly sent as often as it may be', 3, undefined],
    ['is too late, and was possibly sent', 1, 1],
  ])('when the rest %s: all are unknown', async (_, times, expiresAt) => {
    const { on, listed } = await open();
    const settled = [{ ...LEFT, possiblySent: 1, traceIds: ['t-1'] }];
    const unknown = ['t-1', 't-2', 't-3'].slice(0, times);
    const notice = await on.notice(OTHER, {
      settled,
      unknown,
      ...(expiresAt && { expiresAt }),
    });
    await on.run(notice);
    expect(notice.lines).toMatchObject([{ outcome: 'unknown' }]);
    expect(await keptNumbers(notice)).toEqual(['010009', OTHER]);
    expect(await listed(notice)).toMatchObject({
      contacts: 2,
      possiblySent: times,
      traceIds: unknown,
    });
  });

  it.each(['at-most-once', undefined] as const)(
    'when the deadline of the rest passes: they are counted as rejected, %s',
    async (delivery) => {
      const { on, listed } = await open(delivery);
      const settled = [{ ...LEFT, possiblySent: 3, traceIds: ['t-1'] }];
      const notice = await on.notice(OTHER, { settled, expiresAt: 1 });
      await on.run(notice);
      expect(notice.lines).toMatchObject([{ outcome: 'unknown', results: { rejected: 1 } }]);
      expect(await keptNumbers(notice)).toEqual(['010009']);
      expect(await listed(notice)).toMatchObject({
        contacts: 1,
        possiblySent: 3,
        traceIds: ['t-1'],
        stage: 'answered',
      });
    },
  );

  it.each(['at-most-once', undefined] as const)(
    'with its own trace ids, not that of the request with the others, %s',
    async (delivery) => {
      const { on, listed } = await open(delivery);
      const settled = [{ ...LEFT, possiblySent: 2, traceIds: ['t-1', 't-2'] }];
      const notice = await on.notice(OTHER, { settled });
      await on.run(notice);
      expect(on.emulator.record()).toMatchObject({ requests: 1, contacts: 1 });
      expect(notice.lines).toMatchObject([{ outcome: 'unknown' }]);
      expect(await keptNumbers(notice)).toEqual(['010009']);
      expect(await listed(notice)).toMatchObject({
        contacts: 1,
        possiblySent: 2,
        traceIds: ['t-1', 't-2'],
        stage: 'answered',
      });
    },
  );
});
