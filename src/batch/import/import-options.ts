import { z } from 'zod';
import { BATCH_ID } from '../../contracts/chunk-job.ts';
import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../contracts/delivery.ts';
import { parseInput } from '../../contracts/parse-input.ts';
import { sendOptionsSchema } from '../../contracts/send-options.ts';
import { FORBIDDEN_NAMES, type FieldMap } from '../source/column-map.ts';
import { ENCODINGS } from '../source/read-utf8.ts';

/** How a list is read, what is sent to its contacts, and how. */
export interface ImportOptions {
  templateCode: string;
  /** @default 'DIRECTLY' */
  scheduleType?: string | undefined;
  /** DEFAULT_CHAT_SENDER_KEY of the worker when left out. */
  chatSenderKey?: string | undefined;
  /** DEFAULT_SENDER_KEY of the worker when left out. */
  senderKey?: string | undefined;
  /** Further fields of the send call's body; they pass through to the service untouched. */
  fields?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Names the batch: 1 to 64 letters, digits, hyphens and underscores. The same import under the
   * same id goes on where it stood. For a file it is made of the file's content and these options;
   * for anything else it is random, and such an import cannot be gone on with.
   *
   * Who gives one for a stream or an iterable must bring the same rows again: they are not compared.
   */
  batchId?: string | undefined;
  /**
   * Which field of a contact comes from which column (its title, or its position from 1 on), or
   * from which field of an object. Only these are sent then. Without it, columns named `contact`
   * and `varN` are those fields and all others pass through under their own names.
   */
  map?: FieldMap | undefined;
  /** Contacts of one send call. @default CHUNK_SIZE */
  chunkSize?: number | undefined;
  /** What becomes of a send whose outcome is not known. @default 'at-least-once' */
  delivery?: DeliveryPolicy | undefined;
  /**
   * When it is too late: a contact that has not been sent by then never is. A Date, milliseconds
   * since the epoch, or ISO 8601 text with a zone. It is a part of what the import is known by.
   */
  expiresAt?: Date | number | string | undefined;
  /** Contacts a second at most. No limit when left out. */
  rate?: number | undefined;
  /** Send to a number as often as it stands in the list. @default false */
  allowDuplicates?: boolean | undefined;
  /** Halve a rejected chunk until the contact that spoils it stands alone. @default true */
  bisect?: boolean | undefined;
  /** Read and check everything, queue and store nothing; Redis is not needed. @default false */
  dryRun?: boolean | undefined;
  /** Pause while so many contacts of all batches wait in Redis. @default HIGH_WATER */
  highWater?: number | undefined;
  /** Told by the name of the file and by its first character when left out. */
  format?: 'csv' | 'ndjson' | undefined;
  /** Between the cells of CSV: one character. @default ',' */
  delimiter?: string | undefined;
  /** `utf-8` or `euc-kr` (CP949); UTF-16 is told by its byte order mark. @default 'utf-8' */
  encoding?: string | undefined;
  /** Whether the first row of CSV names the columns; without it `map` goes by position. @default true */
  header?: boolean | undefined;
  /**
   * Where refused rows go; it is written when there are any, also by a dry run.
   * @default FILE.rejected.csv (or .ndjson) beside the list; none where the list is no file
   */
  rejectsFile?: string | undefined;
  /** Called after each few rows. What it throws ends the import. */
  onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Ends the import with IMPORT_STOPPED. */
  signal?: AbortSignal | undefined;
}

/** How far an import is. */
export interface ImportProgress {
  readonly rows: number;
  readonly contacts: number;
  readonly duplicates: number;
  readonly refused: number;
  /** Bytes of the list read so far, before they were unpacked; 0 for an iterable. */
  readonly bytesRead: number;
  /** Undefined where the list has no size that is known. */
  readonly totalBytes: number | undefined;
  /** It waits until workers have sent some: enough contacts are in Redis. */
  readonly waiting: boolean;
}

/** What became of an import. */
export interface ImportReport {
  /** Id of the batch; for a dry run the id that it would have. */
  readonly batch: string;
  /** Rows of the list, without the header row and empty lines. */
  readonly rows: number;
  /** Rows that are contacts of the batch; with duplicates and refused ones they make up the rows. */
  readonly contacts: number;
  readonly chunks: number;
  /** Rows whose number stood in a row before them. */
  readonly duplicates: number;
  readonly refused: number;
  /** Contacts whose number was written with separators or full-width digits. */
  readonly normalised: number;
  /** What the chunks of this run take in Redis, in bytes, about. */
  readonly bytes: number;
  /** The batch had been begun before, and this run went on with it. */
  readonly resumed: boolean;
  /** The batch had been imported before; nothing was read or queued, and the figures are its own. */
  readonly alreadyImported: boolean;
  readonly dryRun: boolean;
  /** Where refused rows are; absent where there are none, or no file was named. */
  readonly rejectsFile?: string;
  /** The first rows that were refused, 20 at most, without what they say. */
  readonly firstRefused: readonly {
    readonly line: number;
    readonly field: string;
    readonly reason: string;
  }[];
  /** Lines of the first duplicates, 20 at most. */
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
        .refine((map) => Object.hasOwn(map, 'contact'), 'expected an entry for contact')
        .refine(
          (map) => !Object.keys(map).some((name) => name === '' || FORBIDDEN_NAMES.has(name)),
          'expected names of fields of a contact',
        )
        .optional(),
      chunkSize: count('contacts', 10_000),
      delivery: z
        .enum(DELIVERY_POLICIES, `expected one of ${DELIVERY_POLICIES.join(', ')}`)
        .default('at-least-once'),
      expiresAt: sendOptionsSchema.shape.expiresAt,
      rate: count('contacts a second', 1_000_000_000),
      allowDuplicates: flag.default(false),
      bisect: flag.default(true),
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
    if (!options.header && options.map === undefined) {
      refuse('map', 'expected positions of columns, such as { contact: 1 }, beside header: false');
    }
    if (options.expiresAt !== undefined && options.expiresAt <= Date.now()) {
      refuse('expiresAt', 'expected a time that has not passed');
    }
    if (options.fields !== undefined && Object.hasOwn(options.fields, 'contacts')) {
      refuse('fields', 'expected no contacts: they come from the list');
    }
  });

/** Options with their defaults in place; those of the notice are checked with it. */
export type CheckedImportOptions = z.output<typeof optionsSchema>;

/** @throws InputError NOTICE_INVALID that names every wrong or unknown option */
export function readImportOptions(options: unknown): CheckedImportOptions {
  return parseInput(optionsSchema, options, 'NOTICE_INVALID', '', 'options');
}
