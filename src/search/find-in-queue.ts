import { Ledger } from '../batch/ledger/ledger.ts';
import { lookUpNumber } from '../batch/source/check-number.ts';
import { InputError } from '../contracts/errors.ts';
import { formsOf } from '../format/country.ts';
import { FALSE_POSITIVE_RATE } from '../number-index/chunk-fingerprints.ts';
import { findKey, hashNumber } from '../number-index/number-key.ts';
import type { Sealing } from '../payload/seal.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import type { FindReport, FoundContact, FoundNotice } from './find-answer.ts';
import { findInBatches, type BatchSearch } from './find-in-batches.ts';
import { findNotices } from './find-notices.ts';

/** Connection and settings of a search. */
export interface FindContext {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly settings: {
    /** FIND_KEY; a search without it fails. */
    readonly findKey?: string | undefined;
    readonly keepFailedMs: number;
  };
  /** Decrypts the contacts that are still stored. */
  readonly sealing: Sealing;
}

/** Like `findContact`, on an existing connection. */
export async function findInQueue(
  { redis, keys, sealing, settings }: FindContext,
  number: string,
): Promise<FindReport> {
  const { findKey: secret, keepFailedMs } = settings;
  if (secret === undefined) {
    const problem =
      'is not set, so notices are not searchable: set the same 32 random bytes for producers, importers and searches; notices that are queued from then on can be found';
    throw new InputError('CONFIG_INVALID', [{ field: 'FIND_KEY', problem }]);
  }
  const checked = lookUpNumber(number);
  if (checked.kind === 'refused') {
    throw new InputError('NOTICE_INVALID', [{ field: 'number', problem: checked.reason }]);
  }
  const key = findKey(secret);
  const ledger = new Ledger(redis, keys);
  const since = Date.now() - keepFailedMs;
  const parts = { redis, keys, ledger, sealing };
  const notices: FoundNotice[] = [];
  const contacts: FoundContact[] = [];
  let searched: BatchSearch = { found: [], batches: 0, contacts: 0, unindexed: 0 };
  const forms = formsOf(checked.number);
  for (const form of forms) {
    const hash = hashNumber(key, form);
    notices.push(...(await findNotices(parts, form, hash, keepFailedMs)));
    searched = await findInBatches(parts, form, hash);
    contacts.push(...searched.found);
  }
  return {
    notices,
    contacts,
    searched: {
      since,
      batches: searched.batches,
      contacts: searched.contacts,
      unindexedChunks: searched.unindexed,
      wrongHit: -Math.expm1(-searched.contacts * forms.length * FALSE_POSITIVE_RATE),
    },
  };
}
