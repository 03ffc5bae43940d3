import { pause } from '../../src/async/cancellation.ts';
import { settleWithRetry } from '../../src/async/repeat.ts';
import type { openChunk } from '../../src/payload/chunk-payload.ts';
import { encodeContacts, openPayload, rowsOfContacts } from '../../src/payload/chunk-payload.ts';
import { batchSeal } from '../../src/payload/seal.ts';
import type { SendCheck } from '../../src/suppression/send-check.ts';
import {
  listOf,
  rejectUnreadable,
  settle,
  type ChunkContext,
  type ChunkRun,
  type SendClaim,
} from './chunk-record.ts';
import { allBack } from '../../src/batch/ledger/settlement.ts';
import { requeue } from './disposition.ts';

export interface SuppressionContext {
  readonly doNotSend: Pick<SendCheck, 'isEmpty' | 'hits'>;
}

/** The job is requeued at once: while the list is not readable, not more often than this. */
const ASK_AGAIN_MS = 200;

const NONE: ReadonlySet<number> = new Set();

/**
 * Which contacts are on the do-not-send list, by their index.
 * @returns undefined where that is not known: nothing may be sent
 */
export async function suppressedOf(
  contacts: readonly { readonly contact?: unknown }[],
  { doNotSend }: SuppressionContext,
): Promise<ReadonlySet<number> | undefined> {
  if (doNotSend.isEmpty) return NONE;
  const numbers = contacts.map(({ contact }) => (typeof contact === 'string' ? contact : ''));
  try {
    return await doNotSend.hits(numbers);
  } catch {
    await pause(ASK_AGAIN_MS);
    return undefined;
  }
}

/** What is left to be sent of a claimed chunk. */
interface Allowed {
  readonly claim: SendClaim;
  readonly opened: Awaited<ReturnType<typeof openChunk>>;
}

/**
 * Takes the contacts on the do-not-send list out of a claimed chunk: the ledger counts them as suppressed before the
 * request for the others, so that a worker that dies in between leaves a chunk without them.
 * @returns undefined where no request follows: the chunk is settled
 */
export async function takeOutSuppressed(
  run: ChunkRun,
  claim: SendClaim,
  opened: Allowed['opened'],
  context: ChunkContext,
): Promise<Allowed | undefined> {
  if (context.doNotSend.isEmpty) return { claim, opened };
  const { batch, chunk } = run.data;
  const { size, possiblySent, traceIds } = claim;
  const all = listOf(opened, size);
  if (all === undefined) {
    await rejectUnreadable(run, '', context);
    return undefined;
  }
  const hits = await suppressedOf(all, context);
  if (hits === undefined) {
    await settle(run, allBack(false), context);
    requeue();
  }
  if (hits.size === 0) return { claim, opened };
  const left = all.filter((_, index) => !hits.has(index));
  const seal = batchSeal(context.sealing, batch);
  const rest = left.length === 0 ? undefined : await encodeContacts(left, seal);
  const rows = rowsOfContacts(all.filter((_, index) => hits.has(index)));
  const taken = { size: hits.size, rows, rest };
  const said = await settleWithRetry(
    () => context.ledger.suppress(batch, chunk, run.nonce, size, taken, traceIds.at(-1)),
    (error) => context.log.trouble('suppress', error),
  );
  // Another run has the chunk, or a repeated command found nothing left of it: the next run sees which.
  if (said === 'known') requeue();
  const facts = { batch, chunk, contacts: hits.size, possiblySent };
  context.log.begin(run.locked.job).end({ kind: 'suppressed' }, undefined, facts);
  if (rest === undefined) return undefined;
  const payload = await openPayload(rest, seal);
  return { claim: { ...claim, size: left.length }, opened: { frame: opened.frame, ...payload } };
}
