import { Command } from 'commander';
import type { CheckedList, ImportReport } from '../../batch/import/import-options.ts';
import { ImportError } from '../../contracts/errors.ts';
import { inFlags } from '../arguments.ts';
import { withImportFlags, type ImportFlags } from './import-flags.ts';
import { whyNotTaken } from './refused-limit.ts';
import { countOf, formatCount, roughDuration, table } from '../../format/format.ts';
import { writeInstant } from '../../format/time.ts';
import { UsageError, type CommandContext, untilStopped } from '../command-context.ts';
import { agreed } from '../confirm.ts';
import { openQueue, readConfig, recordDone, withLedger } from '../open-queue.ts';
import { writeJsonLine, wantsJson, writeLines, writeText } from '../output.ts';

/** Maximum number of lines of the list in the report; the rejects file has all of them. */
const MAX_SHOWN = 5;

const STOPPED = 'Stopped waiting. The batch continues without this command.\n';
const IMPORT_STOPPED =
  'Stopped waiting: Redis does not have the whole list. Run the same import again.\n';

/**
 * `notices import`: exits with 1 if no contact was taken, or if more rows were refused than
 * `--max-refused` allows; with `--wait` also unless every contact was accepted. With `--json` each line of
 * standard output is one event; the last event of an import is its report.
 */
export function importCommand(context: CommandContext): Command {
  return withImportFlags(
    new Command('import')
      .description(
        'Queues a contact list as a batch, or continues an import that was stopped; refuses a list that was imported before.',
      )
      .argument('<file>', 'CSV or NDJSON, optionally compressed with gzip; - for standard input'),
  ).action((file: string, flags: ImportFlags, command: Command) =>
    untilStopped(context, async (signal) => {
      if (flags.dryRun === true && flags.wait === true) {
        throw new UsageError('--wait: leave it out of a dry run, which enqueues nothing');
      }
      const json = wantsJson(command);
      const report = await importList(context, file, flags, json, signal).catch(
        (error: unknown) => {
          throw inFlags(command, error);
        },
      );
      if (report === undefined) return;
      const problem = whyNotTaken(report, flags.maxRefused);
      const failed = problem === undefined ? {} : { problem };
      if (json) await writeJsonLine(context.stdout, { event: 'report', ...report, ...failed });
      else writeLines(context.stdout, describeReport(report, flags));
      if (problem !== undefined && !json) writeText(context.stderr, `${problem}\n`);
      const accepted = flags.wait !== true || (await wait(context, report.batch, json, signal));
      context.end(problem === undefined && accepted ? 0 : 1);
    }),
  );
}

async function importList(
  context: CommandContext,
  file: string,
  flags: ImportFlags,
  json: boolean,
  signal: AbortSignal,
): Promise<ImportReport | undefined> {
  const { maxRefused: _, yes: _yes, wait: _wait, why = '', bisect, ...options } = flags;
  const queue = await openQueue(await readConfig(context));
  const { ImportProgressView } = await import('./import-progress.ts');
  const writeEvent = (event: object) => void writeJsonLine(context.stdout, event);
  const view = new ImportProgressView(
    context.stderr,
    json ? writeEvent : undefined,
    flags.dryRun === true,
  );
  let declined = false;
  const confirm = async (list: CheckedList) => {
    declined = !(await agreed(context, questionOf(flags, list), false));
    return !declined;
  };
  const record = async (batch: string, as: string, contacts: number) => {
    if (flags.dryRun === true) return;
    const entry = { what: 'import', target: `batch ${batch}`, as, why } as const;
    await recordDone(context, { ...entry, contacts });
  };
  try {
    const report = await queue.import(file === '-' ? context.stdin : file, {
      ...options,
      // Not set unless it is asked for: a batch is continued with its own options.
      bisect: bisect === true ? undefined : false,
      confirm: asks(context, flags) && !json ? confirm : undefined,
      onProgress: (progress) => view.show(progress),
      signal,
    });
    if (!report.alreadyImported) await record(report.batch, 'imported', report.contacts);
    return report;
  } catch (error) {
    // The question was answered, and said so.
    if (declined) return undefined;
    if (error instanceof ImportError && error.queued > 0) {
      // What was stored until then stays queued: "nothing was done" would be wrong.
      if (OF_LIST.has(error.code)) context.end(1);
      await record(error.batch, 'stopped', error.queued);
    }
    throw error;
  } finally {
    view.end();
    await queue.close();
  }
}

/** Codes where the list is at fault: in the middle of it, as before its first row. */
const OF_LIST: ReadonlySet<string> = new Set(['SOURCE_INVALID', 'BATCH_CONFLICT']);

/** What is stored and not sent needs no question, and without a terminal there is no one to ask. */
const asks = ({ stdin, stderr }: CommandContext, { yes, paused }: ImportFlags): boolean =>
  stdin.isTTY === true && stderr.isTTY === true && yes !== true && paused !== true;

/** The question before the first message of a list is sent. */
function questionOf(
  { templateCode, startAt }: ImportFlags,
  { contacts, rate }: CheckedList,
): string {
  const people = countOf(contacts, 'person', 'people');
  const ms = rate === 0 ? 0 : (contacts / rate) * 1_000;
  const long = rate === 0 ? '' : `, about ${roughDuration(ms)} at ${formatCount(rate)}/s`;
  const first = startAt === undefined ? 'now' : `at ${writeInstant(startAt)}`;
  return `Send ${templateCode} to ${people}${long}, first ${first}?`;
}

function describeReport(report: ImportReport, flags: ImportFlags): string[] {
  const { batch, contacts, chunks, repeated, refused, normalised, rejectsFile } = report;
  const repeats = report.duplicates - repeated;
  const next =
    report.dryRun || flags.wait === true
      ? []
      : [
          ...(flags.paused === true
            ? [`Nothing is sent yet: "notices resume ${batch}" starts it.`]
            : []),
          ...(flags.startAt === undefined || report.resumed
            ? []
            : [`It starts at ${writeInstant(flags.startAt)}.`]),
          `"notices batch ${batch} --watch" shows the progress of sending.`,
        ];
  if (report.alreadyImported) {
    return [`Batch ${batch} was imported before; nothing was enqueued.`, ...next];
  }
  const size = `${formatCount(contacts)} in ${countOf(chunks, 'chunk')}, ${countOf(report.bytes, 'byte')} in Redis`;
  return [
    heading(report),
    ...table([
      ['  rows', formatCount(report.rows)],
      ['  contacts', size],
      ['  duplicates', `${formatCount(repeats)}${placesOf(report.firstDuplicates, repeats)}`],
      ...(repeated === 0 ? [] : [['  left out', `${formatCount(repeated)} of recent lists`]]),
      [
        '  rejected',
        `${formatCount(refused)}${rejectsFile === undefined ? '' : `, see ${rejectsFile}`}`,
      ],
      ['  normalised', `${formatCount(normalised)}${describeRepairs(report)}`],
      ['  columns', describeColumns(report.columns)],
    ]),
    ...report.reasons.slice(0, MAX_SHOWN).map((one) => describeReason(one, report)),
    ...Object.entries(report.empty).map(
      ([name, rows]) => `${name} is empty in ${countOf(rows, 'row')}`,
    ),
    ...(report.reasons.length > MAX_SHOWN ? ['and other reasons'] : []),
    ...(rejectsFile === undefined ? [] : [whatToCorrect(report, rejectsFile)]),
    ...next,
  ];
}

/** Who corrects the rejected rows alone would never send the others, if these are not in the batch. */
function whatToCorrect({ dryRun, contacts }: ImportReport, rejectsFile: string): string {
  return dryRun || contacts === 0
    ? 'Correct the list and import it again.'
    : `Correct ${rejectsFile} and import only that file.`;
}

function describeRepairs({ repaired }: ImportReport): string {
  const counts = Object.entries(repaired).map(([what, count]) => `${what}: ${formatCount(count)}`);
  return counts.length === 0 ? '' : ` (${counts.join(', ')})`;
}

function describeReason(
  { field, reason, count, rows }: ImportReport['reasons'][number],
  { firstRefused }: ImportReport,
): string {
  const shown = rows.map((row) => {
    const line = firstRefused.find((one) => one.row === row)?.line ?? row;
    return line === row ? String(row) : `${row} (line ${line})`;
  });
  const where =
    count === 1
      ? `row ${shown.join(', ')}`
      : `${countOf(count, 'row')}, such as row ${shown.join(' and ')}`;
  return `${where}, ${field === '' ? 'row' : field}: ${reason}`;
}

function heading({ batch, dryRun, resumed }: ImportReport): string {
  if (dryRun) return 'Dry run: nothing was enqueued.';
  return resumed ? `Batch ${batch}, resumed.` : `Batch ${batch}.`;
}

function describeColumns({ sent, leftOut }: ImportReport['columns']): string {
  const rest = leftOut.length === 0 ? '' : `; not sent: ${leftOut.join(', ')}`;
  return `sent: ${sent.join(', ')}${rest}`;
}

function placesOf(rows: readonly number[], all: number): string {
  if (rows.length === 0) return '';
  const shown = rows.slice(0, MAX_SHOWN).join(', ');
  return ` (the first contact of each number is kept; row ${shown}${all > MAX_SHOWN ? ', ...' : ''})`;
}

/** @returns whether every contact of the batch was accepted */
async function wait(
  context: CommandContext,
  id: string,
  json: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const [{ notAccepted }, { followBatch, isOver }, { retryWhileAway }] = await Promise.all([
    import('../../ops/batch-words.ts'),
    import('./follow-batch.ts'),
    import('../../batch/import/retry-while-away.ts'),
  ]);
  const follow = () =>
    withLedger(context, (open) => followBatch(context, open, id, { json, signal, ofImport: true }));
  // Repeats the opening only: what follows has a minute of its own for each step.
  const { batch, continueImport } = await retryWhileAway(follow, signal, false);
  if (!json && !isOver(batch)) {
    writeText(context.stderr, continueImport === null ? STOPPED : IMPORT_STOPPED);
  }
  return isOver(batch) && notAccepted(batch) === 0;
}
