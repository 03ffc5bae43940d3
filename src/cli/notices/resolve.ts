import { Command, Option } from 'commander';
import { whyNotRedrive } from '../../batch/failures/redrive-batch.ts';
import {
  RESOLUTIONS,
  type ResolveDecision,
  type UnknownResolution,
} from '../../ops/resolve-unknown.ts';
import { listUnknownNotices, readUnknown, unknownOfBatch } from '../../ops/unknown.ts';
import { formatCount, countOf } from '../../format/format.ts';
import { shortText, batchId, MAX_WHY_LENGTH, timeSpan } from '../arguments.ts';
import { UsageError } from '../usage-error.ts';
import { type CommandContext, untilStopped, currentUser } from '../command-context.ts';
import { confirm } from '../confirm.ts';
import { readBatch, withLedger, type OpenLedger } from '../open-queue.ts';
import { print, wantsJson, writeLines, writeText } from '../output.ts';
import { describeUnknowns, type Unknowns } from './unknown.ts';

interface ResolveFlags {
  as: UnknownResolution;
  batch?: string;
  all?: boolean;
  olderThan?: number;
  why?: string;
  by?: string;
  yes?: boolean;
}

const CONSEQUENCES: Readonly<Record<UnknownResolution, string>> = {
  accepted: 'They count as accepted and are never sent again.',
  resend: 'The service may have accepted them: some may arrive twice.',
  discard: 'They are never sent again.',
};

/** `notices resolve`: exits with 1 where one was not resolved, or the user declined. */
export function resolveCommand(context: CommandContext): Command {
  return new Command('resolve')
    .description('resolve notices whose outcome is unknown, after a preview')
    .argument('[ids...]', 'job ids from "notices unknown"')
    .addOption(
      new Option('--as <decision>', 'their outcome, or what to do with them')
        .choices(RESOLUTIONS)
        .makeOptionMandatory(),
    )
    .option('--batch <id>', 'all unknown contacts of this batch', batchId)
    .option('--all', 'all single notices (batches are resolved one by one)')
    .option(
      '--older-than <span>',
      'unknown for longer than this, such as 90s, 15m, 2h or 3d',
      timeSpan,
    )
    .option('--why <text>', 'reason, recorded in the audit stream', shortText(MAX_WHY_LENGTH))
    .option(
      '--by <name>',
      'name in the audit stream (default: user@host)',
      shortText(MAX_WHY_LENGTH),
    )
    .option('--yes', 'do not ask for confirmation')
    .action((ids: string[], flags: ResolveFlags, command: Command) => {
      const ways = [ids.length > 0, flags.batch !== undefined, flags.all === true];
      if (ways.filter(Boolean).length !== 1) {
        throw new UsageError('use either ids, --batch ID or --all');
      }
      return withLedger(context, (open) => resolve(context, open, ids, flags, command));
    });
}

async function resolve(
  context: CommandContext,
  open: OpenLedger,
  ids: readonly string[],
  flags: ResolveFlags,
  command: Command,
): Promise<void> {
  const { ledger, redis, keys } = open;
  const now = Date.now();
  const before = flags.olderThan === undefined ? undefined : now - flags.olderThan;
  const batch = flags.batch === undefined ? undefined : await readBatch(ledger, flags.batch);
  const reason =
    batch === undefined || flags.as !== 'resend' ? undefined : whyNotRedrive(batch, now);
  if (batch !== undefined && reason !== undefined) {
    const none = { resolved: 0, contacts: 0, gone: 0, late: 0, stopped: false };
    const report = { as: flags.as, ...none, reason };
    print(context, command, report, () => [`Batch ${batch.id} cannot be sent again: ${reason}.`]);
    context.end(1);
    return;
  }
  const { notices, batches } = await find();
  const contacts = [...notices, ...batches].reduce((sum, found) => sum + found.contacts, 0);
  const missing = new Set(ids).size - (ids.length > 0 ? notices.length : 0);
  if (contacts > 0 && !(await agreed(context, { notices, batches }, contacts, flags, command))) {
    context.end(1);
    return;
  }
  const { as, by, why = '' } = flags;
  const decision: ResolveDecision = { as, who: by ?? currentUser(), why };
  // Imported here because it loads the client of the queue.
  const { resolveBatch, resolveNotices } = await import('../../ops/resolve-unknown.ts');
  // Decisions made before Ctrl-C are recorded in the audit stream, too.
  const done = await untilStopped(context, (signal) => {
    if (batch !== undefined) return resolveBatch(open, batch, { before }, decision, signal);
    const found = notices.map(({ id }) => id);
    return resolveNotices(redis, keys, found, decision, signal);
  });
  const report = { as, ...done, gone: done.gone + missing };
  print(context, command, report, () => [
    report.resolved === 0
      ? 'Nothing was done.'
      : `${countOf(report.contacts, 'contact')} resolved as ${as}.`,
    ...(report.gone > 0 ? [`${formatCount(report.gone)} not found, or no longer unknown.`] : []),
    ...(report.late > 0
      ? [
          `${formatCount(report.late)} left unresolved: their deadline has passed, so they would expire at once.`,
        ]
      : []),
    ...(report.stopped ? ['Stopped. Run the command again for the rest.'] : []),
  ]);
  if (report.gone > 0 || report.late > 0 || report.stopped) context.end(1);

  async function find(): Promise<Unknowns> {
    if (batch !== undefined) {
      const found = await unknownOfBatch(ledger, batch, { before });
      return { notices: [], batches: found === undefined ? [] : [found] };
    }
    if (ids.length === 0) {
      return {
        notices: await listUnknownNotices(redis, keys, { before }),
        batches: [],
      };
    }
    const named = await readUnknown(redis, keys, [...new Set(ids)]);
    return {
      notices: named.filter(({ at }) => at < (before ?? Infinity)),
      batches: [],
    };
  }
}

async function agreed(
  context: CommandContext,
  found: Unknowns,
  contacts: number,
  { as, yes }: ResolveFlags,
  command: Command,
): Promise<boolean> {
  if (!wantsJson(command)) {
    writeLines(context.stderr, describeUnknowns(found, Date.now()).slice(0, -1));
  }
  const question = `Resolve ${countOf(contacts, 'contact')} as ${as}? ${CONSEQUENCES[as]}`;
  if (await confirm(context, question, yes === true)) return true;
  writeText(context.stderr, 'Nothing was done.\n');
  return false;
}
