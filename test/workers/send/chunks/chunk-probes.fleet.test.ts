import { expect, it } from 'vitest';
import type { Batch } from '../../../../src/batch/ledger/batch-record.ts';
import { run } from '../../../cli/support/run.ts';
import { numbers } from '../../../support/fleet.ts';
import { until } from '../../../support/wait.ts';
import { holdingFleet } from '../../support/holding-fleet.ts';

const LONG = { deadlineMs: 60_000 };

const { start, hold } = holdingFleet();

it('probes of a service that fails are single notices while a batch that is sent at most once waits beside them', async () => {
  const on = await start(1, { CONCURRENCY: '4', BATCH_CONCURRENCY: '4', UNKNOWN_RESENDS: '10' });
  const { emulator } = on;
  emulator.addFault({ on: 'send', status: 500 });
  await on.sendEach(numbers(60));
  await until(async () => (await hold(on))?.kind === 'failing', { what: 'the hold', ...LONG });
  const report = await on.queue.import(
    numbers(200, 1_000).map((contact) => ({ contact })),
    { templateCode: 'T', chunkSize: 10, delivery: 'at-most-once' },
  );

  const probes = () => on.attempts().filter(({ probe }) => probe === true);
  await until(() => probes().length >= 10, { what: 'ten probes', ...LONG });
  expect(probes().filter(({ chunk }) => chunk !== undefined)).toEqual([]);
  const shown = await run(['batch', report.batch, '--json'], { ...on.env });
  const { counts } = (JSON.parse(shown.stdout) as { batch: Batch }).batch;
  expect(counts).toMatchObject({ pending: 200, unknown: 0 });

  emulator.clearFaults();
  await until(() => emulator.record().distinct === 260, { what: 'everything sent', ...LONG });
  expect(emulator.record().twice).toBe(0);
}, 120_000);
