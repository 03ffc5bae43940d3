import { Command } from 'commander';
import {
  listUnknownNotices,
  unknownOfBatch,
  type UnknownNotice,
  type UnknownOfBatch,
} from '../../ops/unknown.ts';
import type { CommandContext } from '../command-context.ts';
import { batchId, readBatch, withLedger, type OpenLedger } from '../open-ledger.ts';
import { duration, print, table } from '../output.ts';
import { timeSpan } from '../time-span.ts';

/** So many batches are looked at, the newest first. */
const MAX_BATCHES = 1_000;

interface UnknownFlags {
  batch?: string;
  olderThan?: number;
}

/** What is unknown, as a person is shown it. */
export interface Unknowns {
  readonly notices: readonly UnknownNotice[];
  readonly batches: readonly UnknownOfBatch[];
}

/** `notices unknown`: what may have been taken and nobody can tell; never a number. */
export function unknownCommand(context: CommandContext): Command {
  return new Command('unknown')
    .description('notices whose outcome is unknown: they may have been taken')
    .option('--batch <id>', 'of this batch only', batchId)
    .option('--older-than <span>', 'unknown for longer, such as 90s, 15m, 2h or 3d', timeSpan)
    .action(({ batch, olderThan }: UnknownFlags, command: Command) =>
      withLedger(context, async (open) => {
        const now = Date.now();
        const before = olderThan === undefined ? undefined : now - olderThan;
        const found =
          batch === undefined
            ? await findAll(open, before)
            : { notices: [], batches: await findOfBatch(open, batch, before) };
        print(context, command, found, () => describeUnknowns(found, now));
      }),
    );
}

async function findAll(
  { ledger, redis, keys }: OpenLedger,
  before: number | undefined,
): Promise<Unknowns> {
  const notices = await listUnknownNotices(redis, keys, { before });
  const batches: UnknownOfBatch[] = [];
  for (const batch of await ledger.list(MAX_BATCHES)) {
    const found = await unknownOfBatch(ledger, batch, { before });
    if (found !== undefined) batches.push(found);
  }
  return { notices, batches };
}

async function findOfBatch(
  { ledger }: OpenLedger,
  id: string,
  before: number | undefined,
): Promise<UnknownOfBatch[]> {
  const found = await unknownOfBatch(ledger, await readBatch(ledger, id), { before });
  return found === undefined ? [] : [found];
}

/** Lines for a person. */
export function describeUnknowns({ notices, batches }: Unknowns, now: number): string[] {
  if (notices.length + batches.length === 0) return ['nothing is unknown'];
  const age = (at: number) => duration(Math.max(0, now - at));
  return [
    ...table([
      ['AGE', 'WHAT', 'TEMPLATE', 'CONTACTS', 'CODE', 'LAST SEEN'],
      ...notices.map(({ id, at, template, contacts, code, stage }) => [
        age(at),
        id,
        template,
        String(contacts),
        code,
        stage,
      ]),
      ...batches.map(({ batch, at, template, contacts, codes }) => [
        age(at),
        `batch ${batch}`,
        template,
        String(contacts),
        codes.join(', '),
        '',
      ]),
    ]),
    'Look them up at the service, then "notices resolve".',
  ];
}
