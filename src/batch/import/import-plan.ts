import type { DeliveryPolicy } from '../../contracts/outcome.ts';
import { readNotice } from '../../contracts/notice.ts';
import type { CountryName } from '../../format/country.ts';
import type { FindKey } from '../../number-index/number-key.ts';
import type { RecentLists } from '../../number-index/recent-lists.ts';
import type { Sealing } from '../../payload/seal.ts';
import { ON_RESUME, type BatchPlan } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { FreeRoom } from './chunk-writer.ts';
import type { CheckedImportOptions } from './import-options.ts';

/** Settings of the configuration that an import uses. */
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

/** Where an import stores its batch. */
export interface ImportTarget {
  readonly ledger: Ledger;
  /** Gives jobs to the chunks of a batch that have none. */
  readonly queueChunks: (id: string) => Promise<void>;
  /** Lists of the last days; undefined where they are not compared. */
  readonly recent?: RecentLists | undefined;
  /** The secret of the account. */
  readonly secret: () => Promise<string>;
  /** Of the memory of Redis. */
  readonly room: FreeRoom;
}

/** What an import creates its batch with. */
export interface ImportPlan {
  readonly plan: BatchPlan;
  /** The part of the request body that all contacts share, as JSON with sorted fields. */
  readonly identity: string;
}

/**
 * Derives the plan of a batch from the options of its import.
 *
 * @param defaults used where the options have no chunk size or delivery policy
 * @throws InputError NOTICE_INVALID that names each invalid field of the notice
 */
export function planImport(
  options: CheckedImportOptions,
  defaults: Pick<BatchPlan, 'chunkSize' | 'delivery'>,
): ImportPlan {
  const { templateCode, scheduleType, chatSenderKey, senderKey, fields } = options;
  // Checked like any notice, with a placeholder for the contacts of the list.
  const { contacts: _, ...frame } = readNotice({
    ...fields,
    templateCode,
    scheduleType,
    chatSenderKey,
    senderKey,
    contacts: [{ contact: '0' }],
  });
  const plan: BatchPlan = {
    frame: JSON.stringify(frame),
    templateCode: frame.templateCode,
    chunkSize: options.chunkSize ?? defaults.chunkSize,
    delivery: options.delivery ?? defaults.delivery,
    expiresAt: options.expiresAt ?? 0,
    rate: options.rate ?? 0,
    bisect: options.bisect ?? true,
    startAt: options.paused ? ON_RESUME : (options.startAt ?? 0),
  };
  return { plan, identity: JSON.stringify(sorted(frame)) };
}

function sorted(fields: Readonly<Record<string, unknown>>): readonly unknown[] {
  return Object.entries(fields).sort(([left], [right]) => (left < right ? -1 : 1));
}
