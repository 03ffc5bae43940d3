import { Command, Option } from 'commander';
import type { ResolveDecision } from '../../ops/resolve-unknown.ts';
import { RESOLUTIONS, type UnknownResolution } from '../../ops/unknown/resolutions.ts';
import type { UnknownFilter, UnknownNotice } from '../../ops/unknown.ts';
import type { SelectedReport } from '../../ops/unknown/resolve-selected.ts';
import type { Unknowns } from '../../ops/unknown/select.ts';
import { redisTime } from '../../redis/server-clock.ts';
import { formatCount, countOf } from '../../format/format.ts';
import { shortText, MAX_WHY_LENGTH } from '../arguments.ts';
import {
  UsageError,
  STOPPED,
  type CommandContext,
  untilStopped,
  currentUser,
} from '../command-context.ts';
import { agreed } from '../confirm.ts';
import { withLedger, type OpenLedger } from '../open-queue.ts';
import { print, wantsJson, writeLines } from '../output.ts';
import { describeUnknowns } from './unknown.ts';
import {
  filterOf,
  selectsByFilter,
  unknownContext,
  unknownFlags,
  type UnknownFlags,
} from './unknown-flags.ts';

interface ResolveFlags extends UnknownFlags {
  as: UnknownResolution;
  all?: boolean;
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
  const command = new Command('resolve')
    .argument('[ids...]', 'job ids from "notices unknown"')
    .addOption(
      new Option('--as <decision>', 'their outcome, or what to do with them')
        .choices(RESOLUTIONS)
        .makeOptionMandatory(),
    )
    .option('--all', 'only single notices; without other flags all of them')
    .option(
      '--by <name>',
      'name in the audit stream (default: user@host)',
      shortText(MAX_WHY_LENGTH),
    )
    .option('--yes', 'do not ask for confirmation');
  return unknownFlags(command).action((ids: string[], flags: ResolveFlags, self: Command) => {
    const ways = [ids.length > 0, flags.batch !== undefined, flags.all === true];
    const way = ways.filter(Boolean).length;
    if (way > 1 || (way === 0 && !selectsByFilter(flags))) {
      throw new UsageError(
        'use either ids, --batch ID or --all, or select by --code, --template, --older-than or --number',
      );
    }
    return withLedger(context, (open) => resolve(context, open, ids, flags, self));
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
  const { requireBatch } = await import('../../ops/batch-actions.ts');
  const { whyNotRedrive } = await import('../../batch/failures/redrive-batch.ts');
  const { selectUnknown } = await import('../../ops/unknown/select.ts');
  const { as, by, why = '', all = false } = flags;
  const given = await filterOf(context, open, flags);
  // What becomes unknown while the user reads the question was not shown, and is not decided.
  const asksAt = flags.yes === true ? undefined : Math.floor(await redisTime(redis));
  const filter = { ...given, before: given.before ?? asksAt };
  const batch =
    filter.batch === undefined ? undefined : await requireBatch({ ledger }, filter.batch);
  const reason =
    batch === undefined || as !== 'resend' ? undefined : whyNotRedrive(batch, Date.now());
  if (batch !== undefined && reason !== undefined) {
    const none = { resolved: 0, contacts: 0, gone: 0, late: 0, stopped: false };
    print(context, command, { as, ...none, reason }, () => [
      `Batch ${batch.id} cannot be sent again: ${reason}.`,
    ]);
    context.end(1);
    return;
  }
  const source = unknownContext(open);
  const named = await noticesOf(open, ids, all, filter);
  const found =
    named === undefined ? await selectUnknown(source, filter) : { notices: named, batches: [] };
  const contacts = [...found.notices, ...found.batches].reduce((sum, one) => sum + one.contacts, 0);
  const missing = new Set(ids).size - (ids.length > 0 ? found.notices.length : 0);
  if (contacts > 0 && !(await agreedOn(context, found, contacts, flags, command))) return;
  const decision: ResolveDecision = { as, who: by ?? currentUser(), why };
  // Imported here because it loads the client of the queue.
  const { resolveNotices } = await import('../../ops/resolve-unknown.ts');
  const { resolveSelected } = await import('../../ops/unknown/resolve-selected.ts');
  // Decisions made before Ctrl-C are recorded in the audit stream, too.
  const done = await untilStopped(context, async (signal) => {
    if (named === undefined) return resolveSelected(source, filter, decision, signal);
    return { ...(await resolveNotices(redis, keys, named, decision, signal)), refused: [] };
  });
  const report = { as, ...done, gone: done.gone + missing };
  print(context, command, report, () => describeReport(report));
  if (report.gone > 0 || report.late > 0 || report.stopped || done.refused.length > 0) {
    context.end(1);
  }
}

/** The single notices, where only they are selected; else undefined. */
async function noticesOf(
  source: OpenLedger,
  ids: readonly string[],
  all: boolean,
  filter: UnknownFilter,
): Promise<UnknownNotice[] | undefined> {
  if (!all && ids.length === 0) return undefined;
  const { listUnknownNotices } = await import('../../ops/unknown.ts');
  return listUnknownNotices(source, filter, all ? undefined : ids);
}

function describeReport({
  as,
  resolved,
  contacts,
  gone,
  late,
  stopped,
  refused,
}: SelectedReport & { readonly as: UnknownResolution }): string[] {
  return [
    resolved === 0 ? 'Nothing was done.' : `${countOf(contacts, 'contact')} resolved as ${as}.`,
    ...(gone > 0 ? [`${formatCount(gone)} not found, or no longer unknown.`] : []),
    ...(late > 0
      ? [
          `${formatCount(late)} left unresolved: their deadline has passed, so they would expire at once.`,
        ]
      : []),
    ...refused.map(({ batch, reason }) => `Batch ${batch} cannot be sent again: ${reason}.`),
    ...(stopped ? [STOPPED] : []),
  ];
}

async function agreedOn(
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
  return agreed(context, question, yes);
}
