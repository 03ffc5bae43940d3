import { describe, expect, it } from 'vitest';
import type { ImportOptions } from '../../../../src/batch/import/import-options.ts';
import type { Batch } from '../../../../src/batch/ledger/batch-record.ts';
import type { DeliveryPolicy } from '../../../../src/contracts/outcome.ts';
import type { Fault } from '../../../../src/emulator/faults/fault.ts';
import { run } from '../../../cli/support/run.ts';
import { numbers, type Fleet } from '../../../support/fleet.ts';
import { until } from '../../../support/wait.ts';
import { amongOthers, holdingFleet } from '../../support/holding-fleet.ts';

const FAST = { BACKOFF_BASE_MS: '100', BACKOFF_CAP_MS: '400', BATCH_CONCURRENCY: '8' };
const HTML = { 'content-type': 'text/html; charset=utf-8' };

type Kind = readonly [name: string, delivery: DeliveryPolicy, fault: Omit<Fault, 'on'>];

const FAULTS: readonly (readonly [string, Omit<Fault, 'on'>])[] = [
  ['a 403', { status: 403, code: 'NOT_FOR_THIS_NUMBER' }],
  ['a 401 with a code of its own', { status: 401, code: 'SENDER_UNKNOWN' }],
  ['a page of a firewall', { status: 403, bodyText: '<html>blocked</html>', headers: HTML }],
];

const KINDS = (['at-least-once', 'at-most-once'] as const).flatMap((delivery) =>
  FAULTS.map(([name, fault]): Kind => [name, delivery, fault]),
);

async function batchOf(on: Fleet, id: string): Promise<Batch> {
  const { stdout } = await run(['batch', id, '--json'], { ...on.env });
  return (JSON.parse(stdout) as { batch: Batch }).batch;
}

async function ended(on: Fleet, id: string): Promise<void> {
  const isOver = async () => (await batchOf(on, id)).phase === 'finished';
  await until(isOver, { what: 'the end of the batch', deadlineMs: 90_000 });
}

/** Imports a list while other notices are sent, until its batch has ended. @returns the batch, and how many others were sent */
async function importAmongOthers(
  on: Fleet,
  list: readonly string[],
  options: Omit<ImportOptions, 'templateCode'>,
): Promise<{ readonly batch: Batch; readonly others: number }> {
  await on.sendEach(numbers(5, 80_000));
  let id = '';
  const others = await amongOthers(on, async () => {
    const contacts = list.map((contact) => ({ contact }));
    id = (await on.queue.import(contacts, { templateCode: 'T', ...options })).batch;
    await ended(on, id);
  });
  return { batch: await batchOf(on, id), others: others + 5 };
}

describe('contacts that the service refuses for themselves', () => {
  const { start } = holdingFleet();

  it.each(KINDS)(
    'one in a hundred, with %s, %s: it alone is rejected',
    async (_, delivery, fault) => {
      const on = await start(2, FAST);
      const { emulator } = on;
      const list = numbers(100);
      const bad = list[37] ?? '';
      emulator.addFault({ on: 'send', containing: bad, ...fault });
      const { batch, others } = await importAmongOthers(on, list, { chunkSize: 100, delivery });
      expect(batch.counts).toMatchObject({ accepted: 99, rejected: 1, unknown: 0, pending: 0 });
      await until(() => emulator.record().distinct === 99 + others, { what: 'all others' });
      expect(emulator.record()).toMatchObject({ twice: 0 });
    },
    120_000,
  );

  it('two in each of seven chunks, whose halves are refused at the same time: they alone are rejected', async () => {
    const on = await start(2, FAST);
    const { emulator } = on;
    const list = numbers(280);
    for (const containing of list.filter((_, index) => index % 20 === 5)) {
      emulator.addFault({
        on: 'send',
        containing,
        status: 403,
        code: 'NOT_FOR_THIS_NUMBER',
        latencyMs: 300,
      });
    }
    const { batch } = await importAmongOthers(on, list, { chunkSize: 40 });
    expect(batch.counts).toMatchObject({ accepted: 266, rejected: 14, unknown: 0 });
    expect(emulator.record()).toMatchObject({ twice: 0 });
  }, 120_000);
});
