import { readGroups } from '../batch/failures/failure-groups.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import { batchesOf, type UnknownFilter, type UnknownOfBatch } from './unknown.ts';

/** Sums up all unknown outcomes of one batch from its counters, so that the cost does not grow with their number. */
async function sumOfWholeBatch(ledger: Ledger, batch: Batch): Promise<UnknownOfBatch | undefined> {
  const { id, templateCode: template, begunAt, counts } = batch;
  const groups = await readGroups(ledger, batch, { state: 'unknown' });
  if (groups.length === 0) return undefined;
  const firsts = await Promise.all(groups.map(({ first }) => ledger.failure(id, first)));
  const at = Math.min(...firsts.map((first) => first?.at ?? begunAt));
  const parts = groups.reduce((sum, group) => sum + group.parts, 0);
  const codes = groups.map(({ code }) => code);
  return { batch: id, template, at, contacts: counts.unknown, parts, codes };
}

/** The same of the newest batches. @param most of them */
export async function wholeSumsOf(
  context: { readonly ledger: Ledger },
  filter: UnknownFilter,
  most: number,
) {
  const found: Batch[] = [];
  for await (const batch of batchesOf(context, filter)) {
    found.push(batch);
    if (found.length > most) break;
  }
  const newest = found.slice(0, most);
  const sums = await Promise.all(newest.map((batch) => sumOfWholeBatch(context.ledger, batch)));
  const batches = sums.filter((sum) => sum !== undefined);
  return { batches, allBatches: found.length === newest.length };
}
