import { Command } from 'commander';
import type { ImportOptions, ImportReport } from '../../batch/import/import-options.ts';
import { groupFailures } from '../../batch/failures/failure-groups.ts';
import { loadConfig } from '../../config/config.ts';
import { describeBatch, isOver, notAccepted } from './batch-view.ts';
import { followBatch, writeJsonLine } from './follow-batch.ts';
import { fieldMap, withImportFlags, type ImportFlags } from './import-flags.ts';
import { ImportProgressView } from './import-progress.ts';
import type { CommandContext } from '../command-context.ts';
import { withLedger } from '../open-ledger.ts';
import { openQueue } from '../open-queue.ts';
import { table, wantsJson } from '../output.ts';
import { count, countOf } from '../progress.ts';
import { untilStopped } from '../until-stopped.ts';

/** At most so many lines of the list are told; the rejects file has them all. */
const MOST_SHOWN = 5;

const TAKEN_OUT = ' (blanks, hyphens and the like were taken out of numbers)';

/**
 * `notices import`: with `--wait` it exits with 1 unless every contact was accepted. With `--json` each
 * line of standard output is one event; the last of an import is its report.
 */
export function importCommand(context: CommandContext): Command {
  return withImportFlags(
    new Command('import')
      .description('hand a contact list of any length to the queue, as one batch')
      .argument('<file>', 'CSV or NDJSON, also compressed with gzip; - for standard input'),
  ).action((file: string, flags: ImportFlags, command: Command) =>
    untilStopped(context, async (signal) => {
      const json = wantsJson(command);
      const report = await importList(context, file, flags, json, signal);
      if (json) writeJsonLine(context.stdout, { event: 'report', ...report });
      else context.stdout.write(`${describeReport(report, flags).join('\n')}\n`);
      if (flags.wait === true && !report.dryRun)
        context.end(await wait(context, report.batch, json, signal));
    }),
  );
}

async function importList(
  context: CommandContext,
  file: string,
  flags: ImportFlags,
  json: boolean,
  signal: AbortSignal,
): Promise<ImportReport> {
  const queue = await openQueue(loadConfig(context.env, { service: false }));
  const writeEvent = (event: object) => writeJsonLine(context.stdout, event);
  const view = new ImportProgressView(
    context.stderr,
    json ? writeEvent : undefined,
    flags.dryRun === true,
  );
  try {
    return await queue.import(file === '-' ? context.stdin : file, {
      ...optionsFrom(flags),
      onProgress: (progress) => view.show(progress),
      signal,
    });
  } finally {
    view.end();
    await queue.close();
  }
}

/** Options that were not given are left to the library's defaults. */
function optionsFrom(flags: ImportFlags): ImportOptions {
  const { allowDuplicates, bisect, dryRun, format, delimiter, header, highWater } = flags;
  const { scheduleType, chatSenderKey, senderKey, delivery, rate } = flags;
  return {
    templateCode: flags.template,
    scheduleType,
    chatSenderKey,
    senderKey,
    batchId: flags.batch,
    map: fieldMap([...(flags.map ?? []), ...(flags.varMap ?? [])]),
    chunkSize: flags.chunk,
    delivery,
    expiresAt: flags.expires,
    rate,
    allowDuplicates,
    bisect,
    dryRun,
    highWater,
    format,
    delimiter,
    encoding: flags.encoding,
    header,
    rejectsFile: flags.rejects,
  };
}

function describeReport(report: ImportReport, { wait }: ImportFlags): string[] {
  const { batch, contacts, chunks, duplicates, refused, normalised, rejectsFile } = report;
  const next =
    report.dryRun || wait === true ? [] : [`"notices batch ${batch} --watch" follows the sending.`];
  if (report.alreadyImported) {
    return [`batch ${batch} was imported before, so nothing was queued`, ...next];
  }
  const size = `${count(contacts)} in ${countOf(chunks, 'chunk')}, ${countOf(report.bytes, 'byte')} in Redis`;
  return [
    heading(report),
    ...table([
      ['  rows', count(report.rows)],
      ['  contacts', size],
      ['  duplicates', `${count(duplicates)}${placesOf(report.firstDuplicates, duplicates)}`],
      ['  refused', `${count(refused)}${rejectsFile === undefined ? '' : `, see ${rejectsFile}`}`],
      ['  normalised', `${count(normalised)}${normalised > 0 ? TAKEN_OUT : ''}`],
    ]),
    ...report.firstRefused
      .slice(0, MOST_SHOWN)
      .map(({ line, field, reason }) => `line ${line}, ${field === '' ? 'row' : field}: ${reason}`),
    ...(refused > MOST_SHOWN ? [`and ${count(refused - MOST_SHOWN)} more`] : []),
    ...next,
  ];
}

function heading({ batch, dryRun, resumed }: ImportReport): string {
  if (dryRun) return `dry run, nothing was queued; the import would be batch ${batch}`;
  return resumed ? `batch ${batch}, which had been begun before` : `batch ${batch}`;
}

function placesOf(lines: readonly number[], all: number): string {
  if (lines.length === 0) return '';
  const shown = lines.slice(0, MOST_SHOWN).join(', ');
  return ` (the first of each number is kept; line ${shown}${all > MOST_SHOWN ? ', ...' : ''})`;
}

/** @returns the exit code */
async function wait(
  context: CommandContext,
  id: string,
  json: boolean,
  signal: AbortSignal,
): Promise<number> {
  return withLedger(context, async (open) => {
    const view = await followBatch(context, open, id, json, signal);
    const groups = await groupFailures(open.ledger, view.batch);
    if (json) writeJsonLine(context.stdout, { event: 'batch', ...view, failures: groups });
    else {
      context.stdout.write(`${describeBatch(view, groups, Date.now()).join('\n')}\n`);
      if (!isOver(view.batch)) {
        context.stderr.write('stopped waiting; the batch goes on without this command\n');
      }
    }
    return isOver(view.batch) && notAccepted(view.batch) === 0 ? 0 : 1;
  });
}
