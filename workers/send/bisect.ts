import type { Settlement, FailedPart } from '../../src/batch/ledger/settlement.ts';
import type { DeliveryPolicy } from '../../src/contracts/delivery.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';

/** Statuses that suggest that one contact, or their number, spoils a request. */
const SPOILED: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * After so many refusals in a row without one acceptance the contacts are not to blame: a wrong
 * template would otherwise cost two requests for each contact.
 */
const FRUITLESS = 12;

/** One send call for some of a chunk's contacts. */
export type SendPart<Contact> = (contacts: readonly Contact[]) => Promise<{
  readonly outcome: Outcome | undefined;
  readonly status: number | undefined;
  readonly detail: string;
}>;

/** Whether a rejected chunk is worth halving. */
export function shouldBisect(size: number, status: number | undefined): boolean {
  return size > 1 && status !== undefined && SPOILED.has(status);
}

/**
 * Finds the contacts that spoil a rejected chunk, by sending halves of it, and sends the others.
 *
 * The chunk stays claimed meanwhile; what became of all its contacts is settled in one step at the
 * end. An attempt that cannot go on (a hold, a stop, a lost lock, a service that fails) ends it:
 * what was not tried goes back.
 *
 * @param contacts of a chunk that was just rejected as a whole
 * @param rejected what the whole was rejected with
 * @param encode makes a payload of contacts
 * @returns the settlement, and the outcome that ended it early if one did
 */
export async function bisect<Contact>(
  contacts: readonly Contact[],
  rejected: { readonly code: string; readonly detail: string },
  delivery: DeliveryPolicy,
  send: SendPart<Contact>,
  encode: (contacts: readonly Contact[]) => Promise<Buffer>,
): Promise<{ readonly settlement: Settlement; readonly ended: Outcome | undefined }> {
  const waiting: (readonly Contact[])[] = halves(contacts);
  const failed: FailedPart[] = [];
  const fail = async (
    part: readonly Contact[],
    state: FailedPart['state'],
    code: string,
    message: string,
  ) => {
    failed.push({ state, size: part.length, code, message, payload: await encode(part) });
  };
  let accepted = 0;
  let refusals = 0;
  let possiblySent = false;
  let ended: Outcome | undefined;

  for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
    if (accepted === 0 && refusals >= FRUITLESS) {
      const rest = [...part, ...waiting.flat()];
      await fail(rest, 'rejected', rejected.code, rejected.detail);
      waiting.length = 0;
      break;
    }
    const { outcome, status, detail } = await send(part);
    if (outcome?.kind === 'accepted') {
      accepted += part.length;
    } else if (outcome?.kind === 'rejected') {
      refusals++;
      if (shouldBisect(part.length, status)) waiting.unshift(...halves(part));
      else await fail(part, 'rejected', outcome.code, detail);
    } else if (outcome?.kind === 'unknown' && delivery === 'at-most-once') {
      await fail(part, 'unknown', outcome.code, detail);
    } else {
      waiting.unshift(part);
      possiblySent = outcome?.kind === 'unknown';
      ended = outcome;
      break;
    }
  }

  const rest = waiting.flat();
  const settlement: Settlement =
    rest.length === 0
      ? { accepted, failed }
      : {
          accepted,
          failed,
          rest: { size: rest.length, payload: await encode(rest), possiblySent },
        };
  return { settlement, ended };
}

function halves<Contact>(contacts: readonly Contact[]): [Contact[], Contact[]] {
  const middle = Math.ceil(contacts.length / 2);
  return [contacts.slice(0, middle), contacts.slice(middle)];
}
