import { createHash, randomBytes } from 'node:crypto';
import { readNotice } from '../../contracts/read-notice.ts';
import type { BatchPlan } from '../ledger/batch-record.ts';
import type { CheckedImportOptions } from './import-options.ts';

/** What an import creates its batch with. */
export interface ImportPlan {
  /** Id of the batch. */
  readonly id: string;
  readonly plan: BatchPlan;
  /** Hash of the plan, of the options for reading the list and, for a file, of its content. */
  readonly fingerprint: string;
}

/**
 * Derives the batch of an import from its options. The same file and options give the same batch id,
 * so that a repeated import continues its batch.
 *
 * @param digest hash of the list's content; undefined if it can be read only once
 * @param defaults used where the options have no chunk size or delivery policy
 * @throws InputError NOTICE_INVALID that names each invalid field of the notice
 */
export function planImport(
  options: CheckedImportOptions,
  digest: string | undefined,
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
    bisect: options.bisect,
  };
  const { map, passThrough, format, delimiter, encoding, header, allowDuplicates } = options;
  const reading = {
    map: map && sorted(map),
    ...(passThrough ? { passThrough } : {}),
    format,
    delimiter,
    encoding,
    header,
    allowDuplicates,
  };
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([digest ?? '', plan, reading]))
    .digest('base64url');
  const generated = digest === undefined ? randomBytes(12).toString('base64url') : fingerprint;
  return { id: options.batchId ?? `b-${generated.slice(0, 16)}`, plan, fingerprint };
}

function sorted(map: Readonly<Record<string, string | number>>): readonly unknown[] {
  return Object.entries(map).sort(([left], [right]) => (left < right ? -1 : 1));
}
