import { Command } from 'commander';
import { countOf, formatCount } from '../../format/format.ts';
import { writeTime } from '../../format/relative-time.ts';
import type { FailedFilter, FailedGroup } from '../../notices/failed-notices.ts';
import type { NoticeView } from '../../notices/notice-state.ts';
import type { FailedReport, FailedSelection } from '../../ops/notice-actions.ts';
import { age, wholeNumber, whyOption } from '../arguments.ts';
import { STOPPED, currentUser, untilStopped, type CommandContext } from '../command-context.ts';
import { agreed } from '../confirm.ts';
import { withLedger, type OpenLedger } from '../open-queue.ts';
import { table } from '../../format/table.ts';
import { print, wantsJson, writeLines, writeOut } from '../output.ts';
import { saysExported } from '../says-exported.ts';
import { UsageError } from '../usage-error.ts';

/** Flags that select failed notices. */
export interface FailedFlags {
  state?: FailedFilter['state'];
  code?: string | undefined;
  template?: string | undefined;
  olderThan?: number | undefined;
  possiblySent?: boolean | undefined;
  limit?: number | undefined;
  rate?: number | undefined;
  why?: string | undefined;
  yes?: boolean | undefined;
}

/** The newest failed notices that a list shows. */
const SHOWN = 50;

/** Adds the flags that only single notices have. */
export function failedFlags(command: Command): Command {
  return command
    .option('--template <code>', 'single notices: only with this template code')
    .option(
      '--older-than <duration>',
      'single notices: failed longer ago, such as 15m, 2h or 3d',
      age,
    )
    .option('--possibly-sent', 'single notices: only those that were possibly sent')
    .addOption(whyOption());
}

/** Refuses flags that batches do not have. */
export function refuseNoticeFlags(
  flags: Pick<FailedFlags, 'template' | 'olderThan' | 'possiblySent'>,
): void {
  const { template, olderThan, possiblySent } = flags;
  if (template !== undefined || olderThan !== undefined || possiblySent !== undefined) {
    throw new UsageError('--template, --older-than and --possibly-sent are for single notices');
  }
}

function filterOf({ state, code, template, olderThan, possiblySent }: FailedFlags): FailedFilter {
  const before = olderThan === undefined ? undefined : Date.now() - olderThan;
  return { state, code, template, before, possiblySent };
}

/** `notices failures` without a batch: the failed single notices, by reason. */
export async function showFailed(
  context: CommandContext,
  open: OpenLedger,
  flags: FailedFlags & { csv?: boolean },
  command: Command,
): Promise<void> {
  if (flags.csv === true) {
    await writeCsv(context, open, flags);
    return;
  }
  const { failedNotices, groupFailed } = await import('../../notices/failed-notices.ts');
  const found: NoticeView[] = [];
  for await (const job of failedNotices(open.redis, open.keys, filterOf(flags))) found.push(job);
  const groups = groupFailed(found);
  const result = { notices: found.slice(0, SHOWN), groups, total: found.length };
  print(context, command, result, () => describeFailed(found, groups));
}

/** Describes failed notices in lines of text. It shows no phone number. */
function describeFailed(found: readonly NoticeView[], groups: readonly FailedGroup[]): string[] {
  if (found.length === 0) return ['No notice failed.'];
  const now = Date.now();
  return [
    ...groupLines(groups),
    '',
    ...table([
      ['FAILED', 'NOTICE', 'TEMPLATE', 'CONTACTS', 'STATE', 'CODE', 'POSSIBLY SENT'],
      ...found
        .slice(0, SHOWN)
        .map((job) => [
          writeTime(job.endedAt ?? now, now),
          job.id,
          job.template ?? '',
          formatCount(job.contacts),
          job.state,
          job.code ?? '',
          countOf(job.possiblySent, 'time'),
        ]),
    ]),
    ...(found.length > SHOWN ? [`The newest ${SHOWN} of ${formatCount(found.length)}.`] : []),
    '"notices redrive --notices" sends rejected ones again; "notices delete" deletes them.',
  ];
}

const groupLines = (groups: readonly FailedGroup[]) =>
  table([
    ['STATE', 'CODE', 'NOTICES', 'CONTACTS', 'MESSAGE'],
    ...groups.map(({ state, code, notices, contacts, message }) => [
      state,
      code,
      formatCount(notices),
      formatCount(contacts),
      message,
    ]),
  ]);

async function writeCsv(
  { stdout, stderr }: CommandContext,
  open: OpenLedger,
  flags: FailedFlags,
): Promise<void> {
  const { failedCsv } = await import('../../notices/export-failed.ts');
  const { appendAudit } = await import('../../ops/audit.ts');
  const { state = 'all', code, why = '' } = flags;
  const as = [state, ...(code === undefined ? [] : [code])].join(' ');
  const entry = {
    who: currentUser(),
    what: 'download',
    target: 'single notices',
    as,
    why,
  } as const;
  await appendAudit(open.redis, open.keys, entry);
  const contacts = await failedCsv(open, filterOf(flags), (text) => writeOut(stdout, text));
  saysExported({ stderr }, contacts);
}

/**
 * `notices redrive` and `notices delete` of single notices, after a preview. Exits with 1 where the user
 * declined, or something was not done.
 */
export async function changeFailed(
  context: CommandContext,
  { redis, keys }: OpenLedger,
  verb: 'redrive' | 'delete',
  ids: readonly string[] | undefined,
  flags: FailedFlags & { releaseKey?: boolean },
  command: Command,
): Promise<void> {
  const { deleteNotices, redriveNotices, selectFailed } =
    await import('../../ops/notice-actions.ts');
  const { groupFailed } = await import('../../notices/failed-notices.ts');
  const { limit, rate, why = '', yes = false, releaseKey = false } = flags;
  const state = flags.state ?? 'rejected';
  const selection: FailedSelection = { ...filterOf(flags), state, ids, limit };
  const found = await selectFailed({ redis, keys }, selection);
  const none: FailedReport = { done: 0, contacts: 0, late: 0, gone: ids?.length ?? 0, left: 0 };
  if (found.length === 0) {
    print(context, command, none, () => ['No failed notice matches; nothing was done.']);
    if (ids !== undefined) context.end(1);
    return;
  }
  if (!wantsJson(command)) writeLines(context.stderr, groupLines(groupFailed(found)));
  const many = countOf(Math.min(limit ?? found.length, found.length), 'notice');
  const twice = found.some(({ possiblySent }) => possiblySent > 0)
    ? ' The service may have accepted some of them: they may arrive twice.'
    : '';
  const question = verb === 'redrive' ? `Send ${many} again?${twice}` : `Delete ${many}?`;
  if (!(await agreed(context, question, yes))) return;
  const actor = { who: currentUser(), why };
  // Only what was shown: others may have failed since, or these anew.
  const endedAt = new Map(found.map((job) => [job.id, job.endedAt]));
  const shown = { ...selection, ids: [...endedAt.keys()], endedAt };
  let isStopped = false;
  const done = await untilStopped(context, async (signal) => {
    const sum = await (verb === 'redrive'
      ? redriveNotices({ redis, keys }, shown, actor, rate, signal)
      : deleteNotices({ redis, keys }, { ...shown, state: 'rejected' }, actor, releaseKey, signal));
    isStopped = signal.aborted && sum.left > 0;
    return sum;
  });
  const missing = ids === undefined ? 0 : new Set(ids).size - found.length;
  const report = { ...done, gone: done.gone + missing };
  print(context, command, report, () => [
    `${countOf(report.done, 'notice')} ${verb === 'redrive' ? 'will be sent again' : 'deleted'}.`,
    ...(report.late > 0
      ? [
          `${formatCount(report.late)} not sent again: their deadline has passed, so they would expire at once.`,
        ]
      : []),
    ...(report.gone > 0
      ? [`${formatCount(report.gone)} left out: not failed, or not selected by the flags.`]
      : []),
    ...(report.left > 0 ? [`${formatCount(report.left)} left unchanged.`] : []),
    ...(isStopped ? [STOPPED] : []),
  ]);
  if (report.late + report.gone > 0 || isStopped) context.end(1);
}

/** `notices delete`: deletes rejected single notices. */
export function deleteCommand(context: CommandContext): Command {
  const command = new Command('delete')
    .argument('[ids...]', 'ids of notices; or --notices')
    .option('--notices', 'all that match the flags')
    .option('--code <code>', 'only with this code')
    .option('--limit <n>', 'maximum number of notices', wholeNumber(1, 1_000_000_000))
    .option('--release-key', 'release their idempotency keys, so that they can be sent anew')
    .option('--yes', 'do not ask for confirmation');
  return failedFlags(command).action(
    (
      ids: string[],
      flags: FailedFlags & { notices?: boolean; releaseKey?: boolean },
      self: Command,
    ) => {
      const named = namedOrAll(ids, flags.notices);
      return withLedger(context, (open) =>
        changeFailed(context, open, 'delete', named, flags, self),
      );
    },
  );
}

/** Ids, or undefined for all. @throws UsageError for both or neither */
export function namedOrAll(
  ids: readonly string[],
  all: boolean | undefined,
): readonly string[] | undefined {
  if (ids.length > 0 === (all === true)) throw new UsageError('use either ids or --notices');
  return ids.length > 0 ? ids : undefined;
}
