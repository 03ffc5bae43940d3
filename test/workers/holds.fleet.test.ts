import { describe, expect, it } from 'vitest';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import type { HoldKind } from '../../src/contracts/hold.ts';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { readAccountEvents } from '../../src/events/follow.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { holdingFleet } from './support/holding-fleet.ts';

/*
 * Holds of templates and of key pairs, with processes. Which answers lead to a hold of all is for the simulation
 * (test/fleet/hold) and the chaos scenarios to show.
 */
const { redis, start, hold, templateHolds, failedJobs } = holdingFleet();

const NOTICES = 300;
const CONTACTS = 3_000;
const ALL = NOTICES + CONTACTS;
const NO_ROUTE = { status: 404, code: 'NO_ROUTE' };
const PAGE = { bodyText: '<html>', headers: { 'content-type': 'text/html' } };
const FOREIGN = 'key-of-another-team';

describe('templates of which everything is refused', () => {
  // A row of twenty chunks in one of two processes, or of notices and chunks of the same template.
  it.each<[string, Omit<Fault, 'on'>, HoldKind, string, string, number]>([
    ['404', NO_ROUTE, 'template', 'NO_ROUTE', 'FLEET', 100],
    ['404', NO_ROUTE, 'template', 'NO_ROUTE', 'LIST', 50],
    ['a page', { status: 200, ...PAGE }, 'address', 'HTML_ANSWER', 'FLEET', 100],
  ])(
    '%s: notices, and a list of the template, wait; another template is sent; then all are sent once',
    async (_, fault, kind, code, ofList, chunkSize) => {
      const on = await start(2);
      const { emulator } = on;
      const ledger = new Ledger(redis.client, keysOf(on.env['REDIS_PREFIX'] ?? '', 'default'));
      const counts = async () => (await ledger.read('list'))?.counts;
      const templates = [...new Set(['FLEET', ofList])];
      for (const containing of templates) emulator.addFault({ on: 'send', containing, ...fault });
      await Promise.all([
        on.sendEach(numbers(NOTICES)),
        on.queue.import(
          numbers(CONTACTS, 10_000).map((contact) => ({ contact })),
          { templateCode: ofList, batchId: 'list', chunkSize },
        ),
      ]);
      const held = async () =>
        (await templateHolds(on)).sort((a, b) => a.template.localeCompare(b.template));
      await until(async () => (await held()).length === templates.length, {
        what: 'the holds',
        deadlineMs: 15_000,
      });
      expect(await held()).toMatchObject(templates.map((template) => ({ template, kind, code })));
      await until(async () => (await held()).every(({ failedProbes }) => failedProbes >= 4), {
        what: 'rounds of probes',
        deadlineMs: 20_000,
      });
      await until(async () => (await failedJobs()) === 0 && (await counts())?.rejected === 0, {
        what: 'what was rejected to be taken back',
      });
      expect(await counts()).toMatchObject({ pending: CONTACTS, accepted: 0, unknown: 0 });
      const keys = keysOf(on.prefix, 'default');
      const { events } = await readAccountEvents(redis.client, keys, '0', 10_000);
      const contactsOf = (name: 'contact.rejected' | 'contact.redriven') =>
        events.reduce((sum, one) => sum + (one.event === name ? one.contacts : 0), 0);
      expect(contactsOf('contact.redriven')).toBe(contactsOf('contact.rejected'));
      await on.queue.send({ templateCode: 'OTHER', contacts: [{ contact: '01000050000' }] });
      await until(() => emulator.record().distinct === 1, {
        what: 'the other template',
        deadlineMs: 5_000,
      });
      expect(await hold(on)).toBeUndefined();

      emulator.clearFaults();
      await until(() => emulator.record().distinct === ALL + 1, {
        what: 'all',
        deadlineMs: 30_000,
      });
      await until(async () => (await counts())?.accepted === CONTACTS, { what: 'its end' });
      await until(async () => (await held()).length === 0, { what: 'the end of the holds' });
      expect(emulator.record()).toMatchObject({ contacts: ALL + 1, twice: 0 });
      expect(await failedJobs()).toBe(0);
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
      const refused = { status: 403, code: 'SENDER_NOT_YOURS' };
      emulator.addFault({ on: 'send', containing: FOREIGN, ...refused });
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

it('a worker with another key pair tries it at once', async () => {
  const on = await start(2, {
    HOLD_PROBE_MIN_MS: '2000',
    HOLD_PROBE_MAX_MS: '600000',
    SECRET_KEY: 'wrong',
  });
  await on.sendEach(numbers(20));
  // A probe counts when it begins; one that a stop interrupts is made by the next worker.
  const tried = () => on.emulator.issuances().length >= 3;
  await until(async () => tried() && ((await hold(on))?.failedProbes ?? 0) >= 3, {
    what: 'the next try to be far away',
    deadlineMs: 40_000,
  });
  for (const worker of on.workers) worker.kill('SIGTERM');
  await Promise.all(on.workers.map(({ ended }) => ended));
  expect((await hold(on))?.kind).toBe('credentials');
  const before = on.emulator.issuances().length;
  await on.addWorker();
  // The same key pair waits as before.
  expect(on.emulator.issuances()).toHaveLength(before);
  await on.addWorker({ SECRET_KEY: 'emulator-secret-key' });
  await until(() => on.emulator.record().distinct === 20, { what: 'all', deadlineMs: 5_000 });
  expect(on.emulator.record().twice).toBe(0);
}, 90_000);
