import { readNotice } from '../../contracts/read-notice.ts';
import type { BatchPlan } from '../ledger/batch-record.ts';
import type { CheckedImportOptions } from './import-options.ts';

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
  };
  return { plan, identity: JSON.stringify(sorted(frame)) };
}

/** Id of a batch from random text. */
export function batchIdOf(text: string): string {
  return `b-${text.slice(0, 16)}`;
}

function sorted(fields: Readonly<Record<string, unknown>>): readonly unknown[] {
  return Object.entries(fields).sort(([left], [right]) => (left < right ? -1 : 1));
}
