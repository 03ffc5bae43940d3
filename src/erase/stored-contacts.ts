import { splitOff } from '../batch/failures/failures.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { FailureRecord } from '../batch/ledger/ledger-reader.ts';
import type { CancelSignal } from '../contracts/token.ts';
import type { Contact } from '../contracts/notice.ts';
import {
  decodeContacts,
  encodeContacts,
  openPayload,
  rowsOfContacts,
} from '../payload/chunk-payload.ts';
import { batchSeal, type Sealing } from '../payload/seal.ts';

/** Where the contacts of batches are stored. */
export interface ContactSource {
  readonly ledger: Ledger;
  readonly sealing: Sealing;
}

/** Contacts of a batch with the number. */
export interface ContactsWithNumber {
  readonly batch: string;
  /** The chunk or failure. */
  readonly name: string;
  /** `waiting`: a chunk that is not sent; the others are failures. */
  readonly state: 'waiting' | FailureRecord['state'];
}

/**
 * What became of them: `erased`, or why they are left. `possibly-sent`: they wait for another attempt. `changed`:
 * sent, or moved to another chunk or failure.
 */
export type ErasedContacts = 'erased' | 'sending' | 'possibly-sent' | 'changed';

/** Attempts at a chunk that changes meanwhile. */
const ATTEMPTS = 3;

/**
 * Searches the stored contacts of a batch for a number, without the index.
 *
 * @param onUnreadable called for each chunk or failure that cannot be decrypted
 */
export async function* storedContacts(
  source: ContactSource,
  batch: string,
  forms: readonly string[],
  onUnreadable: () => void,
  signal?: CancelSignal,
): AsyncGenerator<ContactsWithNumber> {
  const { ledger, sealing } = source;
  for await (const name of namesIn(ledger, batch)) {
    if (signal?.aborted === true) return;
    const payload = await ledger.payload(batch, name);
    if (payload === undefined) continue;
    let json: Buffer;
    try {
      ({ contacts: json } = await openPayload(payload, batchSeal(sealing, batch)));
    } catch {
      onUnreadable();
      continue;
    }
    // Most chunks need not be parsed.
    if (!forms.some((form) => json.includes(form))) continue;
    const { taken } = await contactsOf(source, batch, name, forms);
    if (taken.length === 0) continue;
    const failure = await ledger.failure(batch, name);
    yield { batch, name, state: failure?.state ?? 'waiting' };
  }
}

/** Names of the chunks and failures, those that appear meanwhile too: contacts move from one to another. */
async function* namesIn(ledger: Ledger, batch: string): AsyncGenerator<string> {
  const seen = new Set<string>();
  for (;;) {
    const names = (await ledger.payloadNames(batch)).filter((name) => !seen.has(name));
    if (names.length === 0) return;
    for (const name of names) {
      seen.add(name);
      yield name;
    }
  }
}

/**
 * Removes a number from a chunk that waits, or from a failure. The other contacts stay as they are; these count as
 * cancelled from now on, as those do that a person discards.
 */
export async function eraseContacts(
  source: ContactSource,
  batch: string,
  name: string,
  forms: readonly string[],
): Promise<ErasedContacts> {
  const { ledger, sealing } = source;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { taken, rest } = await contactsOf(source, batch, name, forms);
    if (taken.length === 0) return 'changed';
    const size = taken.length + rest.length;
    const failure = await ledger.failure(batch, name);
    if (failure !== undefined) {
      const { state } = failure;
      const seal = batchSeal(sealing, batch);
      const part = await splitOff(ledger, batch, { name, state }, { taken, rest }, seal);
      const rows = rowsOfContacts(taken);
      const isDone =
        part !== undefined && (await ledger.resolve(batch, part, 'cancelled', state, rows));
      if (isDone) return 'erased';
      continue;
    }
    const kept =
      rest.length === 0 ? undefined : await encodeContacts(rest, batchSeal(sealing, batch));
    const answer = await ledger.takeOut(batch, Number(name), size, {
      size: taken.length,
      rows: rowsOfContacts(taken),
      rest: kept,
    });
    if (answer === 'taken') return 'erased';
    if (answer === 'sending' || answer === 'possibly-sent') return answer;
  }
  return 'changed';
}

async function contactsOf(
  { ledger, sealing }: ContactSource,
  batch: string,
  name: string,
  forms: readonly string[],
): Promise<{ readonly taken: Contact[]; readonly rest: Contact[] }> {
  const payload = await ledger.payload(batch, name);
  if (payload === undefined) return { taken: [], rest: [] };
  const contacts = await decodeContacts(payload, batchSeal(sealing, batch));
  return {
    taken: contacts.filter(({ contact }) => forms.includes(contact)),
    rest: contacts.filter(({ contact }) => !forms.includes(contact)),
  };
}
