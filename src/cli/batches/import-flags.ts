import { gather, wholeNumber } from '../arguments.ts';
import { batchId } from '../open-ledger.ts';
import { UsageError } from '../usage-error.ts';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../contracts/delivery.ts';

/** What `notices import` takes beside the file. */
export interface ImportFlags {
  readonly template: string;
  readonly map?: readonly string[];
  readonly varMap?: readonly string[];
  readonly batch?: string;
  readonly chunk?: number;
  readonly delivery?: DeliveryPolicy;
  readonly expires?: string;
  readonly rate?: number;
  readonly allowDuplicates?: boolean;
  readonly bisect: boolean;
  readonly dryRun?: boolean;
  readonly format?: 'csv' | 'ndjson';
  readonly delimiter?: string;
  readonly encoding?: string;
  readonly header: boolean;
  readonly rejects?: string;
  readonly highWater?: number;
  readonly scheduleType?: string;
  readonly chatSenderKey?: string;
  readonly senderKey?: string;
  readonly wait?: boolean;
}

const BILLION = 1_000_000_000;

/** Adds the flags to the command. */
export function withImportFlags(command: Command): Command {
  return command
    .requiredOption('--template <code>', 'template code')
    .option('--map <field=column,...>', 'contact=phone,var1=name: only these columns', gather)
    .addOption(new Option('--var-map <field=column,...>', 'the same').argParser(gather).hideHelp())
    .option('--batch <id>', 'id of the batch (default: made of the file and the options)', batchId)
    .option('--chunk <n>', 'contacts of one send (default: CHUNK_SIZE)', wholeNumber(1, 10_000))
    .addOption(
      new Option('--delivery <policy>', 'what becomes of a send whose outcome is unknown').choices(
        DELIVERY_POLICIES,
      ),
    )
    .option('--expires <time>', 'when it is too late: ISO 8601 with a zone')
    .option('--rate <n>', 'contacts a second at most', wholeNumber(1, BILLION))
    .option('--allow-duplicates', 'send to a number as often as it stands in the list')
    .option('--no-bisect', 'do not halve a rejected chunk to find the contact that spoils it')
    .option('--dry-run', 'read and check everything, queue nothing; needs no Redis')
    .addOption(
      new Option('--format <format>', 'default: by the name of the file').choices([
        'csv',
        'ndjson',
      ]),
    )
    .option('--delimiter <c>', 'one character, or TAB (default: a comma)', delimiter)
    .addOption(new Option('--encoding <name>', 'default: utf-8').choices(['utf-8', 'euc-kr']))
    .option('--no-header', 'the first row is a contact; --map names columns by position, 1 first')
    .option('--rejects <file>', 'where refused rows go (default: FILE.rejected.csv)')
    .option('--high-water <n>', 'pause above so many unsent contacts', wholeNumber(1, BILLION))
    .option('--schedule-type <type>', 'schedule type (default: DIRECTLY)')
    .option('--chat-sender-key <key>', 'sender key of the messenger channel')
    .option('--sender-key <key>', 'sender key for SMS')
    .option('--wait', 'then follow the sending until all is settled');
}

function delimiter(text: string): string {
  const character = /^(tab|\\t)$/i.test(text) ? '\t' : text;
  if (character.length !== 1) throw new InvalidArgumentError('Expected one character, or TAB.');
  return character;
}

/**
 * Reads `contact=phone,var1=name`.
 *
 * @throws UsageError
 */
export function fieldMap(texts: readonly string[]): Record<string, string> | undefined {
  if (texts.length === 0) return undefined;
  const pairs = texts
    .flatMap((text) => text.split(','))
    .map((pair): [string, string] => {
      const at = pair.indexOf('=');
      const [field, column] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
      if (at < 1 || field === '' || column === '') {
        throw new UsageError('--map: expected field=column pairs, such as contact=phone,var1=name');
      }
      return [field, column];
    });
  const fields = pairs.map(([field]) => field);
  const twice = fields.find((field, index) => fields.indexOf(field) !== index);
  if (twice !== undefined) throw new UsageError(`--map: ${twice} is named twice`);
  return Object.fromEntries(pairs);
}
