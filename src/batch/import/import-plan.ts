import { createHash, randomBytes } from 'node:crypto';
import { readNotice } from '../../contracts/read-notice.ts';
import type { BatchPlan } from '../ledger/batch-record.ts';
import type { CheckedImportOptions } from './import-options.ts';

/** What an import begins its batch with. */
export interface ImportPlan {
  readonly id: string;
  readonly plan: BatchPlan;
  /** Of the plan, of how the list is read and, for a file, of its content. */
  readonly fingerprint: string;
}

/**
 * @param digest of the list's content; undefined where it can be read only once
 * @param chunkSize where the options give none
 * @throws InputError NOTICE_INVALID that names what is wrong with the notice's fields
 */
export function planImport(
  options: CheckedImportOptions,
  digest: string | undefined,
  chunkSize: number,
): ImportPlan {
  const { templateCode, scheduleType, chatSenderKey, senderKey, fields } = options;
  // Checked like any notice; its one contact stands for those of the list.
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
    chunkSize: options.chunkSize ?? chunkSize,
    delivery: options.delivery,
    expiresAt: options.expiresAt ?? 0,
    rate: options.rate ?? 0,
    bisect: options.bisect,
  };
  const { map, format, delimiter, encoding, header, allowDuplicates } = options;
  const reading = { map: map && sorted(map), format, delimiter, encoding, header, allowDuplicates };
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([digest ?? '', plan, reading]))
    .digest('base64url');
  const made = digest === undefined ? randomBytes(12).toString('base64url') : fingerprint;
  return { id: options.batchId ?? `b-${made.slice(0, 16)}`, plan, fingerprint };
}

function sorted(map: Readonly<Record<string, string | number>>): readonly unknown[] {
  return Object.entries(map).sort(([left], [right]) => (left < right ? -1 : 1));
}
