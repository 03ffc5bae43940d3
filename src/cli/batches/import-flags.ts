import type { ImportOptions } from '../../batch/import/import-options.ts';
import { batchId, optionFor, time, wholeNumber, whyOption } from '../arguments.ts';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { refusedLimit, type RefusedLimit } from './refused-limit.ts';
import { COUNTRY_NAMES } from '../../format/country.ts';
import { DELIVERY_POLICIES } from '../../contracts/outcome.ts';

/** Options of the library, by their names there, and those of the command. */
export interface ImportFlags extends ImportOptions {
  readonly keep?: string[];
  readonly startAt?: number;
  readonly maxRefused?: RefusedLimit;
  readonly yes?: boolean;
  readonly wait?: boolean;
  readonly why?: string;
}

const BILLION = 1_000_000_000;

/** How a CSV list is read. */
export type ReadingFlags = Pick<ImportOptions, 'delimiter' | 'encoding'>;

export function withReadingFlags(command: Command): Command {
  return command
    .option('--delimiter <c>', 'one character, or TAB (default: a comma, of .tsv a TAB)', delimiter)
    .addOption(new Option('--encoding <name>', 'default: utf-8').choices(['utf-8', 'euc-kr']));
}

export function withImportFlags(command: Command): Command {
  return withReadingFlags(command)
    .addOption(
      optionFor('templateCode', '--template <code>', 'template code').makeOptionMandatory(),
    )
    .option(
      '--map <field=column,...>',
      'columns to use, such as contact=phone,var1=name',
      (text, before?: string) => (before === undefined ? text : `${before},${text}`),
    )
    .option(
      '--pass-through',
      'also send the columns that are neither mapped nor named contact, var1, var2, ...',
    )
    .option('--keep <column,...>', 'columns that stay with a contact and are not sent', names)
    .option('--require <field,...>', 'refuse rows in which it is empty, such as var1', names)
    .addOption(
      optionFor(
        'batchId',
        '--batch <id>',
        'id of the batch: a new one, or the batch to continue (default: a random id)',
        batchId,
      ),
    )
    .option('--again', 'send to a list that was imported before once more, as a new batch')
    .option('--only-new', 'leave out numbers that a list of the last days with this template has')
    .addOption(
      optionFor(
        'chunkSize',
        '--chunk <n>',
        'contacts per send request (default: CHUNK_SIZE)',
        wholeNumber(1, 10_000),
      ),
    )
    .addOption(
      new Option(
        '--delivery <policy>',
        'what happens to contacts whose outcome is unknown (default: DELIVERY)',
      ).choices(DELIVERY_POLICIES),
    )
    .addOption(
      optionFor(
        'expiresAt',
        '--expires <time>',
        'do not send after this time, such as 2026-01-31T09:30',
        time,
      ),
    )
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
    .addOption(
      optionFor(
        'rejectsFile',
        '--rejects <file>',
        'file for rejected rows (default: FILE.rejected.csv)',
      ),
    )
    .addOption(
      optionFor(
        'overwriteRejects',
        '--force',
        'replace the file for rejected rows (default: another file is kept, and the new one gets a number)',
      ),
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

const names = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  ...text.split(',').map((name) => name.trim()),
];

function delimiter(text: string): string {
  const character = /^(tab|\\t)$/i.test(text) ? '\t' : text;
  if (character.length !== 1) throw new InvalidArgumentError('Expected one character, or TAB.');
  return character;
}
