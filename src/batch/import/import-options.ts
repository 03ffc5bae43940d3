import { z } from 'zod';
import { BATCH_ID } from '../../contracts/batch-id.ts';
import { COUNTRY_NAMES } from '../../format/country.ts';
import { DURATION_EXAMPLES, parseDuration } from '../../format/time.ts';
import { DELIVERY_POLICIES } from '../../contracts/outcome.ts';
import { parseInput } from '../../contracts/parse-input.ts';
import { sendOptionsSchema } from '../../contracts/send-options.ts';
import { FORBIDDEN_NAMES } from '../source/column-map.ts';
import { isMisspelt, readPairs, type FieldMap } from '../source/sent-columns.ts';
import { ENCODINGS } from '../source/read-utf8.ts';

export interface CheckedList {
  readonly contacts: number;
  readonly refused: number;
  readonly duplicates: number;
  /** Contacts per second; 0 for no limit. */
  readonly rate: number;
}

/** Progress of an import. */
export interface ImportProgress {
  readonly rows: number;
  readonly contacts: number;
  /** Rows that were skipped because an earlier row has the same phone number. */
  readonly duplicates: number;
  /** Rows that were refused because they are invalid. */
  readonly refused: number;
  /** Bytes of the list read so far, before decompression; 0 for an iterable. */
  readonly bytesRead: number;
  /** Size of the list in bytes; undefined if it is not a file. */
  readonly totalBytes: number | undefined;
  /** Why the import waits: Redis has no memory for lists, or `highWater` unsent contacts. */
  readonly waiting: 'memory' | 'high-water' | false;
}

const count = z.int().min(0);
const place = {
  field: z.string().describe('column or field; empty for the whole row'),
  reason: z.string().describe('what was expected, and what to do'),
};

/** Result of an import. */
export const importReport = z
  .object({
    batch: z.string().describe('id of the batch; of a dry run the one of its options, or empty'),
    rows: count.describe(
      'rows of the list, without that of the titles and empty ones: contacts + duplicates + refused',
    ),
    contacts: count.describe('rows that are contacts of the batch'),
    chunks: count.describe('chunks of the batch; each is one send request'),
    duplicates: count.describe('rows that were skipped because an earlier one has the same number'),
    repeated: count.describe('contacts that onlyNew left out; they count as duplicates'),
    refused: count.describe('rows that were refused because they are invalid'),
    columns: z
      .object({ sent: z.array(z.string()).readonly(), leftOut: z.array(z.string()).readonly() })
      .readonly()
      .describe('columns of the list (for objects: fields) that are sent, and those that are not'),
    normalised: count.describe('contacts whose phone number was repaired'),
    repaired: z
      .record(z.string(), count)
      .readonly()
      .describe('how many of them in each way, such as separators or country code'),
    bytes: count.describe('Redis memory of the chunks that this run stored, estimated'),
    resumed: z.boolean().describe('whether this run continued an unfinished import'),
    alreadyImported: z
      .boolean()
      .describe('whether it was imported before; then nothing was queued, and counts are of then'),
    dryRun: z.boolean(),
    problem: z
      .string()
      .exactOptional()
      .describe('of a dry run: why an import refuses the list as a whole'),
    rejectsFile: z.string().exactOptional().describe('path of the file of refused rows'),
    firstRefused: z
      .array(
        z
          .object({
            row: count.describe('as a spreadsheet counts rows: from 1 with that of the titles'),
            line: count.describe('of the text: another one after cells with line breaks in them'),
            ...place,
          })
          .readonly(),
      )
      .readonly()
      .describe('the first 20 refused rows, without their values'),
    reasons: z
      .array(
        z
          .object({ ...place, count, rows: z.array(count).readonly().describe('two of them') })
          .readonly(),
      )
      .readonly()
      .describe('why rows were refused, the most frequent reason first; at most 20'),
    empty: z
      .record(z.string(), count)
      .readonly()
      .describe('rows in which a variable of the template, such as var1, is empty'),
    firstDuplicates: z.array(count).readonly().describe('rows of the first 20 duplicates'),
  })
  .readonly()
  .meta({ id: 'ImportReport' });

export type ImportReport = z.output<typeof importReport>;

const flag = z.boolean('expected true or false').optional();

const limit = (what: string, max: number) => {
  const message = `expected a whole number of ${what} from 1 to ${max}`;
  return z.int(message).min(1, message).max(max, message).optional();
};

const names = z.array(z.string().min(1), 'expected a list of names').default([]);

const NO_SPREAD = `expected a duration such as ${DURATION_EXAMPLES}, or milliseconds`;

export const NOT_PAST = 'expected a time in the future';

export const isPast = (at: number | undefined) => at !== undefined && at <= Date.now();

const callback = <Call>() =>
  z.custom<Call>((value) => typeof value === 'function', 'expected a function').optional();

const mapSchema = z
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
  );

/** Options of a list that a request may have, too: those that are no phone number, no file and no object. */
const listFields = {
  /**
   * Id of the batch: 1 to 64 letters, digits, hyphens and underscores. The id of an unfinished import continues it;
   * the list and the options of sending that are set must be the same (otherwise BATCH_CONFLICT). If that import
   * has ended, nothing is queued. Without an id an unfinished import of the same list is continued.
   * @default random
   */
  batchId: z
    .string('expected text')
    .regex(BATCH_ID, 'expected 1 to 64 letters, digits, hyphens and underscores')
    .optional(),
  /**
   * Maps fields of a contact to columns of a CSV list (title, or position from 1, without the columns that a file
   * of refused rows adds) or to fields of an object; only these are sent. Without it, the columns `contact`,
   * `var1`, `var2`, ... are. @example { contact: 'Phone', var1: 'Name' }, or as text: 'contact=Phone,var1=Name'
   */
  map: z
    .custom<FieldMap | string>()
    .transform((given, context) => {
      const read = typeof given === 'string' ? readPairs(given) : given;
      if (typeof read !== 'string') return read;
      context.addIssue({ code: 'custom', message: read });
      return z.NEVER;
    })
    .pipe(mapSchema)
    .optional(),
  /** Also send the other columns, as fields of their own names. @default false */
  passThrough: flag.default(false),
  /**
   * Columns (of objects: fields) that stay with their contact in Redis and are not sent: exports of what was not
   * accepted have them. @default []
   */
  keep: names,
  /** Fields, such as var1, that must not be empty: a row in which one is empty is refused. @default [] */
  require: names,
  /**
   * Send to a list that was imported before, as a new batch; without it such a list is refused with LIST_REPEATED.
   * A list is the same if it has the same contacts with the same values in the same order, for the same template,
   * sender keys and `fields`. An import that has not ended is continued instead, unless a new `batchId` is set.
   * @default false
   */
  again: flag.default(false),
  /**
   * Leave out the contacts whose numbers are in a list of the same template of the last days (the queue's
   * `repeatWindowMs`); without it and without `again` such a list is refused with LIST_REPEATED. Needs a file or an
   * array, unless the list has no more than 1,000 contacts. @default false
   */
  onlyNew: flag.default(false),
  /** Store the list and send nothing until a person resumes the batch. @default false */
  paused: flag.default(false),
  /** When sending starts. A start that is missed by more than an hour waits for a person. @default at once */
  startAt: sendOptionsSchema.shape.expiresAt,
  /** Latest time of sending, as in `SendOptions`; contacts that are not sent by then expire. @default never */
  expiresAt: sendOptionsSchema.shape.expiresAt,
  /** Contacts per second at most. @default no limit but that of the account */
  rate: limit('contacts per second', 1_000_000_000),
  /**
   * Instead of a rate: so that the list takes so long, such as '4h', or milliseconds. Needs a list that can be read
   * twice, unless it has no more than 1,000 rows.
   */
  spread: z
    .custom<number | string>()
    .transform((given, context) => {
      const ms = typeof given === 'string' ? parseDuration(given) : given;
      if (typeof ms === 'number' && ms > 0) return ms;
      context.addIssue({ code: 'custom', message: NO_SPREAD });
      return z.NEVER;
    })
    .optional(),
  /** Contacts of one send request: fewer where they have 16 MiB of JSON. @default the queue's `chunkSize` (1000) */
  chunkSize: limit('contacts', 10_000),
  /** What happens after an unknown outcome; see `SendOptions`. @default the queue's `delivery` */
  delivery: z.enum(DELIVERY_POLICIES, `expected one of ${DELIVERY_POLICIES.join(', ')}`).optional(),
  /** Split a rejected chunk in half until the rejected contact is found. @default true */
  bisect: flag,
  /**
   * Country whose national numbers the list has: any other number is refused; international numbers and those that
   * lost their leading zero are repaired. @default the queue's `country`; without it numbers have 8 to 15 digits
   */
  country: z.enum(COUNTRY_NAMES, `expected one of ${COUNTRY_NAMES.join(', ')}`).optional(),
  /**
   * Also send to numbers that no phone has. Without it they are refused, and so is a list of which they are more
   * than one percent. @default false
   */
  allowImplausible: flag.default(false),
  /** Send to every row, even if several have the same phone number. @default false */
  allowDuplicates: flag.default(false),
  /** Delimiter of CSV cells: one character. @default that of a first line such as `sep=;`, of .tsv a tab, or else ',' */
  delimiter: z
    .string('expected text')
    .regex(/^[^"\r\n\ud800-\udfff]$/, 'expected one character, neither a quote nor a line break')
    .optional(),
  /** `euc-kr` includes CP949. A byte order mark decides, also for UTF-16, whatever this is. @default 'utf-8' */
  encoding: z.enum(ENCODINGS, `expected one of ${ENCODINGS.join(', ')}`).default('utf-8'),
  /** Whether the first row of a CSV list contains titles; without them `map` uses positions. @default true */
  header: flag.default(true),
  /** Only read and check the list; queue nothing. Does not need Redis. @default false */
  dryRun: flag.default(false),
};

const optionsSchema = z
  .strictObject(
    {
      /** Code of the message template at the messaging service. */
      templateCode: z.custom<string>(),
      /** When the service sends the message; see `Notice`. @default 'DIRECTLY' */
      scheduleType: z.custom<string>().optional(),
      /** Sender key of the messenger channel. @default DEFAULT_CHAT_SENDER_KEY of the worker */
      chatSenderKey: z.custom<string>().optional(),
      /** Sender key for SMS. @default DEFAULT_SENDER_KEY of the worker */
      senderKey: z.custom<string>().optional(),
      /** Other fields of the send request; JSON values that are sent to the service unchanged. */
      fields: z.record(z.string(), z.unknown(), 'expected an object').optional(),
      /**
       * Asked before a batch is created, once the list is checked; if it answers false, the import ends with
       * IMPORT_STOPPED. Not called for a list that can be read only once.
       */
      confirm: callback<(list: CheckedList) => Promise<boolean>>(),
      /** Wait while Redis holds this many unsent contacts of all batches. @default the queue's `highWater` */
      highWater: limit('contacts', 1_000_000_000),
      /** Format of the list. @default detected from the file name and the first character */
      format: z.enum(['csv', 'ndjson'], 'expected csv or ndjson').optional(),
      /**
       * Path of the file for refused rows: written if there are any, also by a dry run, and imported again once they
       * are corrected. A file with other content is kept, and the new one gets a number; the report names it.
       * @default FILE.rejected.csv (or .ndjson) beside the list; none if the list is not a file
       */
      rejectsFile: z.string('expected text').min(1, 'expected the path of a file').optional(),
      /** Replace the file for refused rows if there is one with other content. @default false */
      overwriteRejects: flag.default(false),
      /** Called during the import, every few hundred rows. An exception from it ends the import. */
      onProgress: callback<(progress: ImportProgress) => void>(),
      /** Aborting it ends the import with IMPORT_STOPPED; the same import continues it later. */
      signal: z
        .custom<AbortSignal>((value) => value instanceof AbortSignal, 'expected an AbortSignal')
        .optional(),
      ...listFields,
    },
    'expected an options object',
  )
  .superRefine((options, context) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (options.again && options.onlyNew)
      refuse('onlyNew', 'expected only one of "again" and "onlyNew"');
    if (options.rate !== undefined && options.spread !== undefined)
      refuse('spread', 'expected only one of "rate" and "spread"');
    if (!options.header && options.map === undefined) {
      refuse(
        'map',
        'expected positions of columns, such as contact=1, because the list has no titles',
      );
    }
    if (isPast(options.expiresAt)) refuse('expiresAt', NOT_PAST);
    // Of an import that is continued it may have passed.
    if (options.dryRun && isPast(options.startAt)) refuse('startAt', NOT_PAST);
    if (options.startAt !== undefined && options.paused) {
      refuse('startAt', 'expected only one of "startAt" and "paused"');
    }
    if ((options.expiresAt ?? Infinity) <= (options.startAt ?? 0)) {
      refuse('expiresAt', 'expected a time after "startAt"');
    }
    if (options.fields !== undefined && Object.hasOwn(options.fields, 'contacts')) {
      refuse('fields', 'must not have contacts: they come from the list');
    }
  });

/** Options of `import`: what is sent to the contacts of the list, how it is sent, and how the list is read. */
export type ImportOptions = z.input<typeof optionsSchema>;

/** {@link ImportOptions} with one of these templates. */
export type ImportOf<Templates extends object> = ImportOptions & {
  readonly templateCode: keyof Templates & string;
};

/** Options with default values; fields of the notice are checked later, with the notice. */
export type CheckedImportOptions = z.output<typeof optionsSchema>;

/** Checks the options. @throws InputError NOTICE_INVALID that names every invalid or unknown option */
export function readImportOptions(options: unknown): CheckedImportOptions {
  return parseInput(optionsSchema, options, 'NOTICE_INVALID', '', 'options');
}

/** The options as the query of a request. */
export const listQuery = z.strictObject({
  templateCode: z.string().min(1),
  scheduleType: z.string().optional(),
  ...listFields,
  batchId: listFields.batchId.describe(
    'id of the batch: repeated with it, a request continues the import',
  ),
  map: listFields.map.describe('columns to use, such as contact=phone,var1=name'),
});
