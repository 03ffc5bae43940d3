import { Command, InvalidArgumentError, Option } from 'commander';
import { whyNotRedrive } from '../../batch/failures/redrive-batch.ts';
import {
  RESOLUTIONS,
  type ResolveDecision,
  type UnknownResolution,
} from '../../ops/resolve-unknown.ts';
import { listUnknownNotices, readUnknown, unknownOfBatch } from '../../ops/unknown.ts';
import type { CommandContext } from '../command-context.ts';
import { confirm } from '../confirm.ts';
import { batchId, readBatch, withLedger, type OpenLedger } from '../open-ledger.ts';
import { print, wantsJson } from '../output.ts';
import { count, countOf } from '../progress.ts';
import { timeSpan } from '../time-span.ts';
import { untilStopped } from '../until-stopped.ts';
import { UsageError } from '../usage-error.ts';
import { whoAmI } from '../who.ts';
import { describeUnknowns, type Unknowns } from './unknown.ts';

const MAX_WORDS = 200;

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
  accepted: 'They are taken for accepted and never sent again.',
  resend: 'They may have been taken: some may get it twice.',
  discard: 'They are never sent again.',
};

/** `notices resolve`: exits with 1 where one was not resolved, or the person said no. */
export function resolveCommand(context: CommandContext): Command {
  return new Command('resolve')
    .description('decide on notices whose outcome is unknown, after a preview')
    .argument('[ids...]', 'job ids, as "notices unknown" shows them')
    .addOption(
      new Option('--as <decision>', 'what became of them, or is to become')
        .choices(RESOLUTIONS)
        .makeOptionMandatory(),
    )
    .option('--batch <id>', 'all that is unknown of this batch', batchId)
    .option('--all', 'all single notices; batches are resolved one by one')
    .option('--older-than <span>', 'unknown for longer, such as 90s, 15m, 2h or 3d', timeSpan)
    .option('--why <words>', 'kept in the audit stream', words)
    .option('--by <name>', 'who decided (default: user@host)', words)
    .option('--yes', 'do not ask')
    .action((ids: string[], flags: ResolveFlags, command: Command) => {
      const ways = [ids.length > 0, flags.batch !== undefined, flags.all === true];
      if (ways.filter(Boolean).length !== 1) {
        throw new UsageError('give either ids, or --batch ID, or --all');
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
    print(context, command, report, () => [`${batch.id} cannot be sent again: ${reason}`]);
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
  const decision: ResolveDecision = { as, who: by ?? whoAmI(), why };
  // The client of the queue is loaded when it is needed.
  const { resolveBatch, resolveNotices } = await import('../../ops/resolve-unknown.ts');
  // What was decided before Ctrl-C is in the audit stream, too.
  const done = await untilStopped(context, (signal) => {
    if (batch !== undefined) return resolveBatch(open, batch, { before }, decision, signal);
    const found = notices.map(({ id }) => id);
    return resolveNotices(redis, keys, found, decision, signal);
  });
  const report = { as, ...done, gone: done.gone + missing };
  print(context, command, report, () => [
    report.resolved === 0
      ? 'nothing was done'
      : `${countOf(report.contacts, 'contact')} resolved as ${as}`,
    ...(report.gone > 0 ? [`${count(report.gone)} not unknown (any more)`] : []),
    ...(report.late > 0
      ? [`${count(report.late)} left: the deadline has passed, so they would expire at once`]
      : []),
    ...(report.stopped ? ['stopped; run it again for the rest'] : []),
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
    context.stderr.write(`${describeUnknowns(found, Date.now()).slice(0, -1).join('\n')}\n`);
  }
  const question = `Resolve ${countOf(contacts, 'contact')} as ${as}? ${CONSEQUENCES[as]}`;
  if (await confirm(context, question, yes === true)) return true;
  context.stderr.write('nothing was done\n');
  return false;
}

function words(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > MAX_WORDS) {
    throw new InvalidArgumentError(`Expected 1 to ${MAX_WORDS} characters.`);
  }
  return trimmed;
}
