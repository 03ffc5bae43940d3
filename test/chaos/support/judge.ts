import { BATCH, CHUNK } from './settings.ts';
import type { BatchCounts } from '../../../src/batch/ledger/batch-record.ts';
import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import type { Status } from '../../../src/ops/status.ts';
import type { UnknownNotice } from '../../../src/ops/unknown.ts';
import type { LogLine } from '../../support/fleet.ts';
import type { Verdict } from './laws.ts';

/** Sum of a batch's states; must be its total at every instant. */
export function sumOf(
  counts: Pick<
    BatchCounts,
    'pending' | 'accepted' | 'rejected' | 'unknown' | 'expired' | 'cancelled'
  >,
): number {
  const { pending, accepted, rejected, unknown, expired, cancelled } = counts;
  return pending + accepted + rejected + unknown + expired + cancelled;
}

/**
 * All that the judge looks at, when everything has ended: what was handed over, the record of the service,
 * and what a user sees of the program. No key of Redis and no field of BullMQ.
 */
export interface Evidence {
  readonly delivery: DeliveryPolicy;
  /** Contacts of the batch. */
  readonly listed: readonly string[];
  /** Those among them for which the service refuses a request. */
  readonly spoiled: readonly string[];
  /** Contact of each single notice, by the id in its receipt. */
  readonly notices: ReadonlyMap<string, string>;
  /** The same of the notices that the service refuses for themselves. */
  readonly bad: ReadonlyMap<string, string>;
  /** When each notice was handed over, by its contact: milliseconds since the epoch. */
  readonly handedAt: ReadonlyMap<string, number>;
  /** The record of the service: how often each contact was accepted, and when first, where it is kept. */
  readonly record: ReadonlyMap<string, number>;
  readonly acceptedAt: ReadonlyMap<string, number>;
  /** Tokens that the service issued, and tokens of ours that others or it invalidated. */
  readonly issued: number;
  readonly invalidated: number;
  /** `notices status --json` */
  readonly status: Pick<Status, 'possiblySentTwice' | 'hold'> & {
    readonly jobs: Pick<Status['jobs'], 'waiting' | 'active' | 'delayed' | 'failed'>;
  };
  /** `notices batch --json` */
  readonly batch: BatchCounts;
  /** `notices unknown --json`, and the contacts of `notices failures --state unknown --csv`. */
  readonly unknown: {
    readonly notices: readonly Pick<UnknownNotice, 'id' | 'possiblySent'>[];
    readonly ofBatch: readonly string[];
  };
  /** The metric `notices_possibly_sent_twice_contacts`, by lane. */
  readonly metrics: Status['possiblySentTwice'];
  /** The lines `attempt` in the log of every worker. */
  readonly attempts: readonly LogLine[];
  /** ATTEMPTS and UNKNOWN_RESENDS of the workers. */
  readonly attemptsOfJob: number;
  readonly unknownResends: number;
}

/** What became of what was handed over. */
export type Fate = Pick<
  Verdict,
  | 'listed'
  | 'sum'
  | 'handedOver'
  | 'lost'
  | 'twice'
  | 'uncounted'
  | 'unnamed'
  | 'unknown'
  | 'setAside'
  | 'again'
  | 'misreported'
  | 'phantom'
  | 'misled'
  | 'bad'
  | 'badAmiss'
  | 'issued'
  | 'invalidated'
  | 'repeated'
  | 'inDoubt'
  | 'mostTaken'
  | 'mostAllowed'
  | 'mostRequests'
  | 'requestBound'
  | 'longestWaitMs'
  | 'holdLeft'
>;

/** Compares what the program reports with the record of the service, which decides. */
export function judge(evidence: Evidence): Fate {
  const { delivery, listed, notices, record, status, batch, unknown, metrics, attempts } = evidence;
  const { bad, spoiled, attemptsOfJob, unknownResends } = evidence;
  const contacts = [...listed, ...notices.values()];
  const ofBatch = new Set(listed);
  const badIds = new Set(bad.keys());
  const again = status.possiblySentTwice;

  const twice = [...record].filter(([, count]) => count > 1);
  const extraOf = (lane: 'notices' | 'chunks') =>
    twice
      .filter(([contact]) => ofBatch.has(contact) === (lane === 'chunks'))
      .reduce((sum, [, count]) => sum + count - 1, 0);
  const countedOfBatch = Math.min(batch.possiblySentTwice, again.chunks);

  const goodUnknown = unknown.notices.filter(({ id }) => !badIds.has(id));
  const unknownContacts = new Set([
    ...unknown.ofBatch,
    ...goodUnknown.map(({ id }) => notices.get(id) ?? id),
  ]);
  const { waiting, active, delayed, failed } = status.jobs;
  const badUnknown = unknown.notices.length - goodUnknown.length;
  const rejected = failed - unknown.notices.length;
  const badTaken = [...bad.values(), ...spoiled].filter((contact) => record.has(contact)).length;
  const isSpoiled = new Set(spoiled);
  const spoiledRejected = spoiled.filter((contact) => !unknownContacts.has(contact)).length;

  const taken = listed.filter((contact) => record.has(contact)).length;
  const endedOtherwise = new Set(
    attempts
      .filter(({ outcome }) => outcome === 'expired' || outcome === 'cancelled')
      .map(({ job }) => String(job))
      .filter((job) => notices.has(job)),
  );
  return {
    listed: listed.length,
    sum: sumOf(batch),
    handedOver: contacts.length + bad.size,
    lost: contacts.filter(
      (contact) => !record.has(contact) && !unknownContacts.has(contact) && !isSpoiled.has(contact),
    ).length,
    twice: twice.length,
    uncounted:
      Math.max(0, extraOf('notices') - again.notices) +
      Math.max(0, extraOf('chunks') - countedOfBatch),
    unnamed: unnamedOf(evidence, twice, ofBatch),
    unknown: unknownContacts.size,
    setAside: delivery === 'at-least-once' ? setAside(evidence, goodUnknown) : 0,
    again: again.notices + again.chunks,
    misreported:
      Math.abs(metrics.notices - again.notices) +
      Math.abs(metrics.chunks - again.chunks) +
      Math.abs(batch.unknown - unknown.ofBatch.length),
    phantom: Math.max(0, batch.accepted - taken) + phantomNotices(evidence),
    misled:
      Math.abs(batch.rejected - spoiledRejected) +
      batch.expired +
      batch.cancelled +
      batch.pending +
      (waiting + active + delayed) +
      endedOtherwise.size +
      (bad.size === 0 ? Math.abs(rejected) : 0),
    bad: bad.size + spoiled.length,
    badAmiss: badTaken + (bad.size === 0 ? 0 : Math.abs(bad.size - badUnknown - rejected)),
    issued: evidence.issued,
    invalidated: evidence.invalidated,
    repeated: attempts
      .filter(({ job }) => !badIds.has(String(job)))
      .reduce((most, { attempt }) => Math.max(most, Number(attempt) - 1), 0),
    inDoubt: attempts.filter(({ outcome, probe }) => outcome === 'unknown' && probe !== true)
      .length,
    mostTaken: contacts.reduce((most, contact) => Math.max(most, record.get(contact) ?? 0), 0),
    mostAllowed: 1 + unknownResends,
    mostRequests: mostRequests(attempts),
    requestBound: 2 * attemptsOfJob + unknownResends + 1,
    longestWaitMs: longestWait(evidence),
    holdLeft: status.hold !== undefined,
  };
}

/**
 * Listed as unknown although neither their attempts nor their resends are used up. A contact that the service
 * refuses after an attempt that it may have accepted is unknown for good reason.
 */
function setAside(
  { listed, spoiled, unknown, attempts, attemptsOfJob, unknownResends }: Evidence,
  notices: Evidence['unknown']['notices'],
): number {
  const usedUp = new Set(
    attempts
      .filter(
        ({ attempt, possiblySent }) =>
          Number(attempt) >= attemptsOfJob || Number(possiblySent ?? 0) > unknownResends,
      )
      .map(({ job }) => job),
  );
  const chunkOf = new Map(
    listed.map((contact, at) => [contact, `c-${BATCH}-${Math.floor(at / CHUNK)}`]),
  );
  return (
    unknown.ofBatch.filter(
      (contact) => !usedUp.has(chunkOf.get(contact)) && !spoiled.includes(contact),
    ).length +
    notices.filter(({ id, possiblySent }) => possiblySent <= unknownResends && !usedUp.has(id))
      .length
  );
}

/** Single notices accepted more than once whose log has no attempt that states it was possibly sent. */
function unnamedOf(
  { notices, attempts }: Evidence,
  twice: readonly (readonly [contact: string, count: number])[],
  ofBatch: ReadonlySet<string>,
): number {
  const named = new Set(
    attempts.filter(({ possiblySent }) => Number(possiblySent ?? 0) >= 1).map(({ job }) => job),
  );
  const idOf = new Map([...notices].map(([id, contact]) => [contact, id]));
  return twice.filter(([contact]) => !ofBatch.has(contact) && !named.has(idOf.get(contact))).length;
}

/** Single notices that the log reports as accepted, and the record does not contain. */
function phantomNotices({ notices, record, attempts }: Evidence): number {
  const accepted = new Set(
    attempts.filter(({ outcome }) => outcome === 'accepted').map(({ job }) => String(job)),
  );
  return [...notices].filter(([id, contact]) => accepted.has(id) && !record.has(contact)).length;
}

/** The most requests that were made for one job, probes of holds excepted. */
function mostRequests(attempts: readonly LogLine[]): number {
  const byJob = new Map<unknown, number>();
  for (const { job, requests, probe } of attempts) {
    if (probe === true) continue;
    byJob.set(job, (byJob.get(job) ?? 0) + Number(requests ?? 0));
  }
  return [...byJob.values()].reduce((most, requests) => Math.max(most, requests), 0);
}

/** From the receipt of a single notice to its acceptance; Infinity for one that was not accepted. */
function longestWait({ notices, handedAt, acceptedAt }: Evidence): number {
  if (acceptedAt.size === 0) return 0;
  return [...notices.values()].reduce((longest, contact) => {
    const [from, to] = [handedAt.get(contact) ?? 0, acceptedAt.get(contact) ?? Infinity];
    return Math.max(longest, to - from);
  }, 0);
}
