import path from 'node:path';
import type { OpenSource } from '../source/open-source.ts';
import type { DeliveryPolicy } from '../../contracts/outcome.ts';
import { InputError } from '../../contracts/errors.ts';
import { readNotice } from '../../contracts/notice.ts';
import type { CountryName } from '../../format/country.ts';
import type { FindKey } from '../../number-index/number-key.ts';
import type { RecentLists } from '../../number-index/recent-lists.ts';
import type { Sealing } from '../../payload/seal.ts';
import { ON_RESUME, type BatchPlan } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { CheckedImportOptions } from './import-options.ts';

export interface ImportSettings {
  /** Contacts of a chunk, unless the options give another number. */
  readonly chunkSize: number;
  /** What happens after an unknown outcome, unless the options decide it. */
  readonly delivery: DeliveryPolicy;
  /** The import waits while Redis holds this many unsent contacts. */
  readonly highWater: number;
  /** How long the batch is kept after its end, and the search index its chunks, in milliseconds. */
  readonly keepFailedMs: number;
  readonly sealing: Sealing;
  /** Hashes phone numbers for the search index; undefined for no index. */
  readonly findKey?: FindKey | undefined;
  /** Whose national numbers lists have, unless the options name another one. */
  readonly country?: CountryName | undefined;
}

export interface ImportTarget {
  readonly ledger: Ledger;
  /** Gives jobs to the chunks of a batch that have none. */
  readonly queueChunks: (id: string) => Promise<void>;
  /** Lists of the last days; undefined where they are not compared. */
  readonly recent?: RecentLists | undefined;
  readonly secret: () => Promise<string>;
  /** Whether Redis has room for so many bytes more. */
  readonly room: { has(bytes: number): boolean | Promise<boolean> };
}

/** Derives the plan of a batch. @throws InputError NOTICE_INVALID that names each invalid field of the notice */
export function planImport(
  options: CheckedImportOptions,
  defaults: Pick<BatchPlan, 'chunkSize' | 'delivery'>,
  { file = '', totalBytes = 0 }: Pick<OpenSource, 'file' | 'totalBytes'> = {},
): BatchPlan {
  const { templateCode, scheduleType, chatSenderKey, senderKey, fields } = options;
  // Checked like any notice, with a placeholder for the contacts of the list.
  const { contacts: _, ...frame } = readNotice({
    fields,
    templateCode,
    scheduleType,
    chatSenderKey,
    senderKey,
    contacts: [{ contact: '0' }],
  });
  const { rate = 0 } = options;
  // Evenly: a chunk is what a second of the rate sends.
  const mostPerChunk = rate === 0 ? defaults.chunkSize : Math.min(defaults.chunkSize, rate);
  return {
    frame: JSON.stringify(frame),
    templateCode: frame.templateCode,
    chunkSize: options.chunkSize ?? mostPerChunk,
    delivery: options.delivery ?? defaults.delivery,
    expiresAt: options.expiresAt ?? 0,
    rate,
    bisect: options.bisect ?? true,
    startAt: options.paused ? ON_RESUME : (options.startAt ?? 0),
    reading: {
      file: file === '' ? '' : path.resolve(file),
      bytes: totalBytes,
      flags: flagsOf(options),
    },
  };
}

/** The options with the rate at which a list takes as long as they say. @throws InputError NOTICE_INVALID */
export function spreadOver(
  options: CheckedImportOptions,
  { isWhole, tally }: { readonly isWhole: boolean; readonly tally: { readonly contacts: number } },
): CheckedImportOptions {
  const { spread } = options;
  if (spread === undefined) return options;
  if (!isWhole) {
    const problem = 'expected a rate: how long this list is, is not known before its end';
    throw new InputError('NOTICE_INVALID', [{ field: 'spread', problem }]);
  }
  return { ...options, rate: Math.max(1, Math.ceil((tally.contacts * 1_000) / spread)) };
}

/** In place of a sender key, which is not stored in clear: the printed command says what to do. */
const NO_KEY = 'REPLACE-BY-THE-KEY';

/** The flags with which the same list is read again. */
function flagsOf(options: CheckedImportOptions): Record<string, string> {
  const { map, expiresAt, startAt, scheduleType } = options;
  const pairs = Object.entries(map ?? {}).map(([name, source]) => `${name}=${source}`);
  const given: Readonly<Record<string, string | number | boolean | undefined>> = {
    map: pairs.length === 0 ? undefined : pairs.join(','),
    'pass-through': options.passThrough,
    keep: options.keep.join(',') || undefined,
    require: options.require.join(',') || undefined,
    'schedule-type': typeof scheduleType === 'string' ? scheduleType : undefined,
    'chat-sender-key': options.chatSenderKey === undefined ? undefined : NO_KEY,
    'sender-key': options.senderKey === undefined ? undefined : NO_KEY,
    'only-new': options.onlyNew,
    chunk: options.chunkSize,
    delivery: options.delivery,
    expires: expiresAt === undefined ? undefined : new Date(expiresAt).toISOString(),
    'start-at': startAt === undefined ? undefined : new Date(startAt).toISOString(),
    rate: options.rate,
    country: options.country,
    'allow-implausible': options.allowImplausible,
    'allow-duplicates': options.allowDuplicates,
    'no-bisect': options.bisect === false,
    format: options.format,
    delimiter: options.delimiter,
    encoding: options.encoding === 'utf-8' ? undefined : options.encoding,
    'no-header': !options.header,
    rejects: options.rejectsFile,
  };
  const flags: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === false) continue;
    flags[name] = value === true ? '' : String(value);
  }
  return flags;
}

/** The part of the request body that all contacts share, in a form that does not depend on the order of its fields. */
export function identityOf({ frame }: BatchPlan): string {
  const fields = Object.entries(JSON.parse(frame) as Record<string, unknown>);
  return JSON.stringify(fields.sort(([left], [right]) => (left < right ? -1 : 1)));
}
