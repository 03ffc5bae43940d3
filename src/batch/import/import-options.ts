import { z } from 'zod';
import { BATCH_ID } from '../../contracts/batch-id.ts';
import { COUNTRY_NAMES, type CountryName } from '../../format/country.ts';
import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../contracts/outcome.ts';
import { parseInput } from '../../contracts/parse-input.ts';
import { sendOptionsSchema } from '../../contracts/send-options.ts';
import { FORBIDDEN_NAMES } from '../source/column-map.ts';
import { isMisspelt, type FieldMap, type SentColumns } from '../source/sent-columns.ts';
import { ENCODINGS } from '../source/read-utf8.ts';

/** Options of `import`: what is sent to the contacts of the list, how it is sent, and how the list is read. */
export interface ImportOptions {
  /** Code of the message template at the messaging service. */
  templateCode: string;
  /** When the service sends the message; see `Notice`. @default 'DIRECTLY' */
  scheduleType?: string | undefined;
  /** Sender key of the messenger channel. @default DEFAULT_CHAT_SENDER_KEY of the worker */
  chatSenderKey?: string | undefined;
  /** Sender key for SMS. @default DEFAULT_SENDER_KEY of the worker */
  senderKey?: string | undefined;
  /** Other fields of the send request; JSON values that are sent to the service unchanged. */
  fields?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Id of the batch: 1 to 64 letters, digits, hyphens and underscores. An import with the id of an
   * unfinished import continues it; the list must be the same (otherwise BATCH_CONFLICT), and so must the
   * options of sending that are set. If that import has ended, nothing is queued.
   *
   * Without it an unfinished import of the same list is continued.
   * @default random
   */
  batchId?: string | undefined;
  /**
   * Send to a list that was imported before, as a new batch; without it such a list is refused with
   * LIST_REPEATED. A list is the same if it has the same contacts with the same values, in the same order,
   * for the same template, sender keys and `fields`, whatever its format and the options of sending. An
   * import that has not ended is continued instead, unless a new `batchId` is set. @default false
   */
  again?: boolean | undefined;
  /**
   * Leave out the contacts whose numbers are in a list of the same template of the last days (the queue's
   * `repeatWindowMs`). Without it and without `again` such a list is refused with LIST_REPEATED. Needs a file or an
   * array, unless the list has no more than 1,000 contacts. @default false
   */
  onlyNew?: boolean | undefined;
  /**
   * Maps fields of a contact to columns of a CSV list (title, or position from 1, without the columns that
   * a file of refused rows adds) or to fields of an object. Only mapped columns are sent. Without it, the
   * columns `contact`, `var1`, `var2`, ... become these fields, and no others are sent. The report lists both
   * kinds.
   * @example { contact: 'Phone', var1: 'Name' }
   */
  map?: FieldMap | undefined;
  /**
   * Also send the columns that `map` does not name (without a map: those other than `contact` and
   * `varN`) to the service, as fields of their own names. @default false
   */
  passThrough?: boolean | undefined;
  /**
   * Contacts of one send request: 1 to 10,000; fewer where they have 16 MiB of JSON.
   * @default the queue's `chunkSize` (1000)
   */
  chunkSize?: number | undefined;
  /** What happens after an unknown outcome; see `SendOptions`. @default the queue's `delivery` */
  delivery?: DeliveryPolicy | undefined;
  /**
   * Latest time of sending; contacts that are not sent by then expire. A Date, milliseconds since the
   * epoch, or ISO 8601 text with a time zone. To continue an import it must be the same.
   * @default never
   */
  expiresAt?: Date | number | string | undefined;
  /** Store the list and send nothing until a person resumes the batch. @default false */
  paused?: boolean | undefined;
  /**
   * When sending starts, in the forms of `expiresAt`. A start that is missed by more than an hour, because no worker or no
   * Redis was there, waits for a person. @default at once
   */
  startAt?: Date | number | string | undefined;
  /**
   * Asked before a batch is created, once the list is checked; if it answers false, the import ends with
   * IMPORT_STOPPED. Not called for a list that can be read only once.
   */
  confirm?: ((list: CheckedList) => Promise<boolean>) | undefined;
  /** Contacts per second at most. @default no limit but that of the account */
  rate?: number | undefined;
  /**
   * Country whose national numbers the list has: `KR`, `JP` or `US`. A number that is none of them is refused;
   * international numbers and those that lost their leading zero are repaired.
   * @default the queue's `country`; without it numbers have 8 to 15 digits
   */
  country?: CountryName | undefined;
  /**
   * Also send to numbers that no phone has. Without it they are refused, and so is a list of which they are more than
   * one percent. @default false
   */
  allowImplausible?: boolean | undefined;
  /** Send to every row, even if several have the same phone number. @default false */
  allowDuplicates?: boolean | undefined;
  /** Split a rejected chunk in half until the rejected contact is found. @default true */
  bisect?: boolean | undefined;
  /** Only read and check the list; queue nothing. Does not need Redis. @default false */
  dryRun?: boolean | undefined;
  /** Wait while Redis holds this many unsent contacts of all batches. @default the queue's `highWater` */
  highWater?: number | undefined;
  /** Format of the list. @default detected from the file name and the first character */
  format?: 'csv' | 'ndjson' | undefined;
  /** Delimiter of CSV cells: one character. @default ',' */
  delimiter?: string | undefined;
  /**
   * `utf-8`, or `euc-kr` (which includes CP949). A byte order mark decides, also for UTF-16, whatever this is.
   * @default 'utf-8'
   */
  encoding?: string | undefined;
  /**
   * Whether the first row of a CSV list contains titles. If false, `map` uses positions. If true, a first row with a
   * phone number where `map` takes `contact` from is refused. @default true
   */
  header?: boolean | undefined;
  /**
   * Path of the file for refused rows. It is written if there are any, also by a dry run, and can be
   * imported again after the rows are corrected. If there is a file with other content, it is kept, and the
   * new one gets a number, such as `FILE.rejected-2.csv`; the report names it.
   * @default FILE.rejected.csv (or .ndjson) beside the list; none if the list is not a file
   */
  rejectsFile?: string | undefined;
  /** Replace the file for refused rows if there is one with other content. @default false */
  overwriteRejects?: boolean | undefined;
  /** Called during the import, every few hundred rows. An exception from it ends the import. */
  onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Aborting it ends the import with IMPORT_STOPPED; the same import continues it later. */
  signal?: AbortSignal | undefined;
}

/** A list that was checked. */
export interface CheckedList {
  /** Rows that become contacts. */
  readonly contacts: number;
  readonly refused: number;
  readonly duplicates: number;
}

/** Progress of an import. */
export interface ImportProgress {
  /** Rows read so far: contacts, duplicates and refused rows. */
  readonly rows: number;
  /** Rows that became contacts of the batch. */
  readonly contacts: number;
  /** Rows that were skipped because an earlier row has the same phone number. */
  readonly duplicates: number;
  /** Rows that were refused because they are invalid. */
  readonly refused: number;
  /** Bytes of the list read so far, before decompression; 0 for an iterable. */
  readonly bytesRead: number;
  /** Size of the list in bytes; undefined if it is not a file. */
  readonly totalBytes: number | undefined;
  /** Whether the import waits for workers because Redis holds `highWater` unsent contacts. */
  readonly waiting: boolean;
}

/** Result of an import. */
export interface ImportReport {
  /** Id of the batch; of a dry run the one of its options, or empty. */
  readonly batch: string;
  /** Rows of the list, without the header and empty lines: contacts + duplicates + refused. */
  readonly rows: number;
  /** Rows that are contacts of the batch. */
  readonly contacts: number;
  /** Chunks of the batch; each is one send request. */
  readonly chunks: number;
  /** Rows that were skipped because an earlier row has the same phone number. */
  readonly duplicates: number;
  /** Contacts that `onlyNew` left out; they count as duplicates. */
  readonly repeated: number;
  /** Rows that were refused because they are invalid; `rejectsFile` contains them. */
  readonly refused: number;
  /** Columns of the list (for objects: fields) that are sent to the service, and those that are not. */
  readonly columns: SentColumns;
  /** Contacts whose phone number was repaired. */
  readonly normalised: number;
  /** How many of them in each way, such as `separators` or `country code`. */
  readonly repaired: Readonly<Record<string, number>>;
  /** Redis memory of the chunks that this run stored, in bytes, estimated. */
  readonly bytes: number;
  /** Whether this run continued an unfinished import. */
  readonly resumed: boolean;
  /** Whether the list was imported before; then nothing was queued and the counts are of that import. */
  readonly alreadyImported: boolean;
  /** Whether this was a dry run, which queues nothing. */
  readonly dryRun: boolean;
  /** Of a dry run: why an import refuses the list as a whole; absent if it does not. */
  readonly problem?: string;
  /** Path of the file of refused rows; absent if there is none. */
  readonly rejectsFile?: string;
  /** The first 20 refused rows, without their values. */
  readonly firstRefused: readonly {
    /** Row of the list, as a spreadsheet counts them: from 1 with that of the titles. */
    readonly row: number;
    /** Line of the text on which it starts: another one after cells with line breaks in them. */
    readonly line: number;
    /** Column or field; empty for the whole row. */
    readonly field: string;
    /** What was expected, and what to do. */
    readonly reason: string;
  }[];
  /** Why rows were refused, the most frequent reason first; at most 20. */
  readonly reasons: readonly {
    readonly field: string;
    readonly reason: string;
    /** Number of rows. */
    readonly count: number;
    /** Two of them. */
    readonly rows: readonly number[];
  }[];
  /** Rows of the first 20 duplicates. */
  readonly firstDuplicates: readonly number[];
}

const text = z.string('expected text').optional();
const flag = z.boolean('expected true or false').optional();

const count = (what: string, max: number) => {
  const message = `expected a whole number of ${what} from 1 to ${max}`;
  return z.int(message).min(1, message).max(max, message).optional();
};

const optionsSchema = z
  .strictObject(
    {
      templateCode: z.unknown().optional(),
      scheduleType: z.unknown().optional(),
      chatSenderKey: z.unknown().optional(),
      senderKey: z.unknown().optional(),
      fields: z.record(z.string(), z.unknown(), 'expected an object').optional(),
      again: flag.default(false),
      onlyNew: flag.default(false),
      batchId: z
        .string('expected text')
        .regex(BATCH_ID, 'expected 1 to 64 letters, digits, hyphens and underscores')
        .optional(),
      map: z
        .record(
          z.string(),
          z.union(
            [z.string().min(1), z.int().min(1)],
            'expected the title of a column, or its position from 1 on',
          ),
          'expected an object such as { contact: "Phone", var1: "Name" }',
        )
        .refine(
          (map) => !Object.keys(map).some(isMisspelt),
          'expected contact and var1, var2, ... in lower case, without leading zeros or blanks',
        )
        .refine((map) => Object.hasOwn(map, 'contact'), 'expected an entry for contact')
        .refine(
          (map) => !Object.keys(map).some((name) => name === '' || FORBIDDEN_NAMES.has(name)),
          'expected valid names of contact fields',
        )
        .optional(),
      passThrough: flag.default(false),
      chunkSize: count('contacts', 10_000),
      delivery: z
        .enum(DELIVERY_POLICIES, `expected one of ${DELIVERY_POLICIES.join(', ')}`)
        .optional(),
      expiresAt: sendOptionsSchema.shape.expiresAt,
      paused: flag.default(false),
      startAt: sendOptionsSchema.shape.expiresAt,
      confirm: z
        .custom<(list: CheckedList) => Promise<boolean>>(
          (value) => value === undefined || typeof value === 'function',
          'expected a function',
        )
        .optional(),
      rate: count('contacts per second', 1_000_000_000),
      country: z.enum(COUNTRY_NAMES, `expected one of ${COUNTRY_NAMES.join(', ')}`).optional(),
      allowImplausible: flag.default(false),
      allowDuplicates: flag.default(false),
      bisect: flag,
      dryRun: flag.default(false),
      highWater: count('contacts', 1_000_000_000),
      format: z.enum(['csv', 'ndjson'], 'expected csv or ndjson').optional(),
      delimiter: z
        .string('expected text')
        .regex(
          /^[^"\r\n\ud800-\udfff]$/,
          'expected one character, neither a quote nor a line break',
        )
        .default(','),
      encoding: z.enum(ENCODINGS, `expected one of ${ENCODINGS.join(', ')}`).default('utf-8'),
      header: flag.default(true),
      rejectsFile: text.refine((file) => file !== '', 'expected the path of a file'),
      overwriteRejects: flag.default(false),
      onProgress: z
        .custom<(progress: ImportProgress) => void>(
          (value) => value === undefined || typeof value === 'function',
          'expected a function',
        )
        .optional(),
      signal: z
        .custom<AbortSignal>(
          (value) => value === undefined || value instanceof AbortSignal,
          'expected an AbortSignal',
        )
        .optional(),
    },
    'expected an options object',
  )
  .superRefine((options, context) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (options.again && options.onlyNew)
      refuse('onlyNew', 'expected only one of again and onlyNew');
    if (!options.header && options.map === undefined) {
      refuse(
        'map',
        'expected positions of columns, such as { contact: 1 }, because header is false',
      );
    }
    if (options.expiresAt !== undefined && options.expiresAt <= Date.now()) {
      refuse('expiresAt', 'expected a time in the future');
    }
    if (options.startAt !== undefined && options.startAt <= Date.now()) {
      refuse('startAt', 'expected a time in the future');
    }
    if (options.startAt !== undefined && options.paused) {
      refuse('startAt', 'expected only one of startAt and paused');
    }
    if ((options.expiresAt ?? Infinity) <= (options.startAt ?? 0)) {
      refuse('expiresAt', 'expected a time after startAt');
    }
    if (options.fields !== undefined && Object.hasOwn(options.fields, 'contacts')) {
      refuse('fields', 'must not have contacts: they come from the list');
    }
  });

/** Options with default values; fields of the notice are checked later, with the notice. */
export type CheckedImportOptions = z.output<typeof optionsSchema>;

/** Checks the options. @throws InputError NOTICE_INVALID that names every invalid or unknown option */
export function readImportOptions(options: unknown): CheckedImportOptions {
  return parseInput(optionsSchema, options, 'NOTICE_INVALID', '', 'options');
}
