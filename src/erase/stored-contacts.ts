import { splitOff, type SomeContacts } from '../batch/failures/failures.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { CancelSignal } from '../contracts/token.ts';
import { contactsOfPart, type EntrySource } from '../ops/entries.ts';
import { encodeContacts, rowsOfContacts } from '../payload/chunk-payload.ts';
import { batchSeal, noneUnreadable, NO_SEALING } from '../payload/seal.ts';

/** Where the contacts of batches are stored. */
type ContactSource = Pick<EntrySource, 'ledger' | 'sealing'>;

/** Attempts at a chunk that changes meanwhile. */
const ATTEMPTS = 3;

/**
 * Searches the stored contacts of a batch for a number, without the index.
 *
 * @param onUnreadable called for each chunk or failure that cannot be decrypted
 * @returns the chunks that are not sent, and the failures, which have it
 */
export async function* storedContacts(
  source: ContactSource,
  batch: string,
  forms: readonly string[],
  onUnreadable: () => void,
  signal?: CancelSignal,
): AsyncGenerator<{ readonly name: string; readonly waits: boolean }> {
  for await (const name of namesIn(source.ledger, batch)) {
    if (signal?.aborted === true) return;
    const contacts = await contactsOfPart(source, { id: batch }, name).catch((error: unknown) => {
      noneUnreadable(error);
      onUnreadable();
    });
    if (contacts?.some(({ contact }) => forms.includes(contact)) !== true) continue;
    yield { name, waits: (await source.ledger.failure(batch, name)) === undefined };
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
 *
 * @returns why they are left, where they are. `possibly-sent`: they wait for another attempt. `changed`: sent, or moved to
 *   another chunk or failure
 */
export async function eraseContacts(
  source: ContactSource,
  batch: string,
  name: string,
  forms: readonly string[],
): Promise<'erased' | 'sending' | 'possibly-sent' | 'changed'> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const contacts = (await contactsOfPart(source, { id: batch }, name)) ?? [];
    const taken = contacts.filter(({ contact }) => forms.includes(contact));
    const rest = contacts.filter(({ contact }) => !forms.includes(contact));
    if (taken.length === 0) return 'changed';
    const answer = await takeOut(source, batch, name, { taken, rest });
    if (answer === 'taken') return 'erased';
    if (answer === 'sending' || answer === 'possibly-sent') return answer;
  }
  return 'changed';
}

async function takeOut(
  { ledger, sealing = NO_SEALING }: ContactSource,
  batch: string,
  name: string,
  some: SomeContacts,
) {
  const seal = batchSeal(sealing, batch);
  const { taken, rest } = some;
  const rows = rowsOfContacts(taken);
  const failure = await ledger.failure(batch, name);
  if (failure === undefined) {
    const kept = rest.length === 0 ? undefined : await encodeContacts(rest, seal);
    const part = { size: taken.length, rows, rest: kept };
    return ledger.takeOut(batch, Number(name), taken.length + rest.length, part);
  }
  const { state } = failure;
  const part = await splitOff(ledger, batch, { name, state }, some, seal);
  const isDone =
    part !== undefined && (await ledger.resolve(batch, part, 'cancelled', state, rows));
  return isDone ? 'taken' : 'known';
}
