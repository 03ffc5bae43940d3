import type { ImportOptions } from '../../batch/import/import-options.ts';
import { collect, wholeNumber, batchId, time, whyOption } from '../arguments.ts';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { refusedLimit, type RefusedLimit } from './refused-limit.ts';
import { COUNTRY_NAMES } from '../../format/country.ts';
import { DELIVERY_POLICIES } from '../../contracts/outcome.ts';

/** Options whose flags have other names. */
export const RENAMED = {
  templateCode: 'template',
  batchId: 'batch',
  chunkSize: 'chunk',
  expiresAt: 'expires',
  rejectsFile: 'rejects',
  overwriteRejects: 'force',
};

/** Options that flags of other names or types set, or none. */
type Other =
  | keyof typeof RENAMED
  | 'map'
  | 'keep'
  | 'require'
  | 'startAt'
  | 'bisect'
  | 'fields'
  | 'confirm'
  | 'onProgress'
  | 'signal';

/** Options of `notices import`: those of the library that have the same name, and its own. */
export interface ImportFlags extends Omit<ImportOptions, Other> {
  readonly template: string;
  readonly map?: readonly string[];
  readonly keep?: readonly string[];
  readonly require?: readonly string[];
  readonly batch?: string;
  readonly chunk?: number;
  readonly startAt?: number;
  readonly expires?: number;
  readonly bisect: boolean;
  readonly rejects?: string;
  readonly force?: boolean;
  readonly maxRefused?: RefusedLimit;
  readonly yes?: boolean;
  readonly wait?: boolean;
  readonly why?: string;
}

/** Options that are not set have the defaults of the library. */
export function importOptions(flags: ImportFlags): ImportOptions {
  const { template, map, keep, require: required, batch, chunk, expires, ...others } = flags;
  const { bisect, rejects, force, ...more } = others;
  const { maxRefused: _, yes: _yes, wait: _wait, why: _why, ...same } = more;
  return {
    ...same,
    templateCode: template,
    batchId: batch,
    map: map?.join(','),
    keep: namesOf(keep),
    require: namesOf(required),
    chunkSize: chunk,
    expiresAt: expires,
    // Not set unless it is asked for: a batch is continued with its own options.
    bisect: bisect ? undefined : false,
    rejectsFile: rejects,
    overwriteRejects: force,
  };
}

const namesOf = (texts: readonly string[] | undefined) =>
  texts?.flatMap((text) => text.split(',')).map((name) => name.trim());

const BILLION = 1_000_000_000;

/** How a CSV list is read. */
export type ReadingFlags = Pick<ImportOptions, 'delimiter' | 'encoding'>;

export function withReadingFlags(command: Command): Command {
  return command
    .option('--delimiter <c>', 'one character, or TAB (default: a comma, of .tsv a TAB)', delimiter)
    .addOption(new Option('--encoding <name>', 'default: utf-8').choices(['utf-8', 'euc-kr']));
}

/** Adds the options to the command. */
export function withImportFlags(command: Command): Command {
  return withReadingFlags(command)
    .requiredOption('--template <code>', 'template code')
    .option('--map <field=column,...>', 'columns to use, such as contact=phone,var1=name', collect)
    .option(
      '--pass-through',
      'also send the columns that are neither mapped nor named contact, var1, var2, ...',
    )
    .option('--keep <column,...>', 'columns that stay with a contact and are not sent', collect)
    .option('--require <field,...>', 'refuse rows in which it is empty, such as var1', collect)
    .option(
      '--batch <id>',
      'id of the batch: a new one, or the batch to continue (default: a random id)',
      batchId,
    )
    .option('--again', 'send to a list that was imported before once more, as a new batch')
    .option('--only-new', 'leave out numbers that a list of the last days with this template has')
    .option(
      '--chunk <n>',
      'contacts per send request (default: CHUNK_SIZE)',
      wholeNumber(1, 10_000),
    )
    .addOption(
      new Option(
        '--delivery <policy>',
        'what happens to contacts whose outcome is unknown (default: DELIVERY)',
      ).choices(DELIVERY_POLICIES),
    )
    .option('--expires <time>', 'do not send after this time, such as 2026-01-31T09:30', time)
    .option('--paused', 'store the list; "notices resume ID" starts sending')
    .option('--start-at <time>', 'start sending at this time, such as 2026-01-31T09:30', time)
    .option('--yes', 'do not ask for confirmation; on a terminal the command asks')
    .option('--rate <n>', 'maximum number of contacts per second', wholeNumber(1, BILLION))
    .option('--spread <duration>', 'instead: so that the list takes so long, such as 4h')
    .addOption(
      new Option(
        '--country <code>',
        'country whose national numbers the list has (default: COUNTRY, or else any numbers of 8 to 15 digits)',
      ).choices(COUNTRY_NAMES),
    )
    .option('--allow-implausible', 'also send to numbers that no phone has')
    .option('--allow-duplicates', 'send to a number as often as the list contains it')
    .option(
      '--no-bisect',
      'do not split a rejected chunk to find the contacts that cause the rejection',
    )
    .option('--dry-run', 'read and check everything, enqueue nothing; needs no Redis')
    .addOption(
      new Option('--format <format>', 'default: by the file name, or else by the content').choices([
        'csv',
        'ndjson',
      ]),
    )
    .option(
      '--no-header',
      'the first row is a contact; --map then names columns by position, starting at 1',
    )
    .option('--rejects <file>', 'file for rejected rows (default: FILE.rejected.csv)')
    .option(
      '--force',
      'replace the file for rejected rows (default: another file is kept, and the new one gets a number)',
    )
    .option(
      '--max-refused <n>',
      'exit with 1 if more rows are rejected: a number, or a percentage such as 5% (default: any number, but not all)',
      refusedLimit,
    )
    .option(
      '--high-water <n>',
      'pause above this number of unsent contacts',
      wholeNumber(1, BILLION),
    )
    .option('--schedule-type <type>', 'schedule type (default: DIRECTLY)')
    .option('--chat-sender-key <key>', 'sender key of the messenger channel')
    .option('--sender-key <key>', 'sender key of SMS')
    .addOption(whyOption())
    .option('--wait', 'then show the progress of sending until every contact is settled');
}

function delimiter(text: string): string {
  const character = /^(tab|\\t)$/i.test(text) ? '\t' : text;
  if (character.length !== 1) throw new InvalidArgumentError('Expected one character, or TAB.');
  return character;
}
