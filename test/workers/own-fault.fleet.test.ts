import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { numbers, type Fleet } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { amongOthers, holdingFleet } from './support/holding-fleet.ts';

const FOREIGN = 'key-of-another-team';
const HTML = { 'content-type': 'text/html; charset=utf-8' };

/** Notices that the service refuses for themselves, whatever the token, among good ones. */
describe('notices that the service refuses for themselves', () => {
  const { start, hold, templateHolds, failedJobs } = holdingFleet();

  async function send(on: Fleet, good: readonly string[], own: readonly string[]) {
    const mixed = [...good.map((contact) => ({ contact })), ...own.map((contact) => ({ contact }))];
    const isOwn = new Set(own);
    await on.queue.sendMany(
      mixed
        .sort((a, b) => a.contact.slice(-3).localeCompare(b.contact.slice(-3)))
        .map(({ contact }) => ({
          templateCode: 'MIXED',
          ...(isOwn.has(contact) ? { senderKey: FOREIGN } : {}),
          contacts: [{ contact }],
        })),
    );
  }

  it.each<[string, number, Omit<Fault, 'on'>, number]>([
    ['300 with a 403', 300, { status: 403, code: 'SENDER_NOT_YOURS' }, 2],
    ['50 with a 401 and a code of its own', 50, { status: 401, code: 'SENDER_UNKNOWN' }, 2],
    ['one with an HTML page', 1, { status: 200, bodyText: '<html>', headers: HTML }, 1],
  ])(
    '%s: they are rejected, the others are sent at once, and tokens are not issued for them',
    async (_, count, fault, issuances) => {
      const on = await start(2);
      const { emulator } = on;
      emulator.addFault({ on: 'send', containing: FOREIGN, ...fault });
      const good = numbers(300);
      await send(on, good.slice(0, 20), []);
      await until(() => emulator.record().distinct === 20, { what: 'the first' });
      await send(on, good.slice(20), numbers(count, 50_000));
      const begun = performance.now();
      await until(() => emulator.record().distinct === 300, {
        what: 'the good ones',
        deadlineMs: 20_000,
      });
      const goodMs = performance.now() - begun;
      const areRejected = async () => (await failedJobs()) === count;
      await amongOthers(on, () =>
        until(areRejected, { what: 'all of them rejected', deadlineMs: 60_000 }),
      );
      expect(goodMs).toBeLessThan(5_000);
      expect(await hold(on)).toBeUndefined();
      // Where nothing was accepted for a while, one more in ten seconds is allowed.
      const more10s = Math.floor((performance.now() - begun) / 10_000);
      expect(emulator.record().tokens.issued).toBeLessThanOrEqual(issuances + more10s);
      expect(emulator.record().twice).toBe(0);
    },
    120_000,
  );

  /** So many that most were never tried when the good ones come. */
  it.each([
    [0, 0],
    [0, 5],
    [1, 5],
  ])(
    '1,000 with a 403 and the priority %s: good ones behind them, with the priority %s, are sent soon',
    async (priority, behind) => {
      const on = await start(2);
      const { emulator } = on;
      emulator.addFault({
        on: 'send',
        containing: FOREIGN,
        status: 403,
        code: 'SENDER_NOT_YOURS',
      });
      await on.queue.sendMany(
        numbers(1_000).map((contact) => ({
          templateCode: 'MIXED',
          senderKey: FOREIGN,
          contacts: [{ contact }],
        })),
        { priority },
      );
      await until(async () => (await templateHolds(on)).length > 0, { what: 'the hold' });
      expect(await templateHolds(on)).toMatchObject([{ template: 'MIXED', kind: 'credentials' }]);
      expect(await hold(on)).toBeUndefined();
      const [other = '', same = ''] = numbers(2, 50_000);
      const of = (templateCode: string, contact: string) =>
        on.queue.send({ templateCode, contacts: [{ contact }] }, { priority: behind });
      await Promise.all([of('OTHER', other), of('MIXED', same)]);
      const isSent = (one: string) =>
        [...emulator.contacts()].some(({ contact }) => contact === one);
      await until(() => isSent(other), { what: 'another template', deadlineMs: 20_000 });
      await until(() => isSent(same), { what: 'the same template', deadlineMs: 40_000 });
      expect(emulator.record().twice).toBe(0);
    },
    90_000,
  );
});
