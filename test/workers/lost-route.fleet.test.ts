import { describe, expect, it } from 'vitest';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { holdingFleet } from './support/holding-fleet.ts';

const NOTICES = 300;
const CONTACTS = 3_000;
const ALL = NOTICES + CONTACTS;

describe('a gateway that lost its route', () => {
  const redis = testRedis();
  const { start, hold, templateHolds, failedJobs } = holdingFleet();

  // A row of twenty chunks in one of two processes, or of notices and chunks of the same template.
  it.each([
    ['their template', 'FLEET', 100],
    ['templates of their own', 'LIST', 50],
  ])(
    'refuses everything: notices and a list of %s wait, none stays rejected, and all are sent once',
    async (_, templateCode, chunkSize) => {
      const on = await start(2);
      const { emulator } = on;
      const ledger = new Ledger(redis.client, keysOf(on.env['REDIS_PREFIX'] ?? '', 'default'));
      const counts = async () => (await ledger.read('list'))?.counts;
      emulator.addFault({ on: 'send', status: 404, code: 'NO_ROUTE' });
      await Promise.all([
        on.sendEach(numbers(NOTICES)),
        on.queue.import(
          numbers(CONTACTS, 10_000).map((contact) => ({ contact })),
          { templateCode, batchId: 'list', chunkSize },
        ),
      ]);
      const held = async () =>
        (await templateHolds(on)).sort((a, b) => a.template.localeCompare(b.template));
      const expected = [...new Set(['FLEET', templateCode])].map((template) => ({
        template,
        kind: 'template',
        code: 'NO_ROUTE',
      }));
      await until(async () => (await held()).length === expected.length, {
        what: 'the holds',
        deadlineMs: 15_000,
      });
      expect(await held()).toMatchObject(expected);
      await until(async () => (await held()).every(({ rounds }) => rounds >= 4), {
        what: 'rounds of probes',
        deadlineMs: 20_000,
      });
      await until(async () => (await failedJobs()) === 0 && (await counts())?.rejected === 0, {
        what: 'what was rejected to be taken back',
      });
      expect(await counts()).toMatchObject({ pending: CONTACTS, accepted: 0, unknown: 0 });
      expect(await hold(on)).toBeUndefined();

      emulator.clearFaults();
      await until(() => emulator.record().distinct === ALL, { what: 'all', deadlineMs: 30_000 });
      await until(async () => (await counts())?.accepted === CONTACTS, { what: 'its end' });
      await until(async () => (await held()).length === 0, { what: 'the end of the holds' });
      expect(emulator.record()).toMatchObject({ contacts: ALL, twice: 0 });
      expect(await failedJobs()).toBe(0);
    },
    120_000,
  );
});
