import { Command } from 'commander';
import {
  listUnknownNotices,
  unknownOfBatch,
  type UnknownNotice,
  type UnknownOfBatch,
} from '../../ops/unknown.ts';
import { countOf, formatDuration } from '../../format/format.ts';
import { batchId, timeSpan } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { readBatch, withLedger, type OpenLedger } from '../open-queue.ts';
import { print, table } from '../output.ts';

/** Maximum number of batches that are searched, newest first. */
const MAX_BATCHES = 1_000;

interface UnknownFlags {
  batch?: string;
  olderThan?: number;
}

/** Notices and contacts whose outcome is unknown. */
export interface Unknowns {
  readonly notices: readonly UnknownNotice[];
  readonly batches: readonly UnknownOfBatch[];
}

/** `notices unknown`: lists notices whose outcome is unknown; shows no phone number. */
export function unknownCommand(context: CommandContext): Command {
  return new Command('unknown')
    .description('list notices whose outcome is unknown: the service may have accepted them')
    .option('--batch <id>', 'only contacts of this batch', batchId)
    .option(
      '--older-than <span>',
      'unknown for longer than this, such as 90s, 15m, 2h or 3d',
      timeSpan,
    )
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

/** Describes them in lines of text. */
export function describeUnknowns({ notices, batches }: Unknowns, now: number): string[] {
  if (notices.length + batches.length === 0) return ['No outcome is unknown.'];
  const age = (at: number) => formatDuration(Math.max(0, now - at));
  return [
    ...table([
      ['AGE', 'JOB OR BATCH', 'TEMPLATE', 'CONTACTS', 'CODE', 'LAST STAGE', 'POSSIBLY SENT'],
      ...notices.map(({ id, at, template, contacts, code, stage, possiblySent }) => [
        age(at),
        id,
        template,
        String(contacts),
        code,
        stage,
        countOf(possiblySent, 'time'),
      ]),
      ...batches.map(({ batch, at, template, contacts, codes }) => [
        age(at),
        `batch ${batch}`,
        template,
        String(contacts),
        codes.join(', '),
        '',
        '',
      ]),
    ]),
    'Check them at the service, then run "notices resolve".',
  ];
}
