import type { BatchCounts } from '../../../src/batch/ledger/batch-record.ts';
import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import type { Status } from '../../../src/ops/status.ts';
import type { UnknownNotice } from '../../support/unknown-notices.ts';
import type { LogLine } from '../../support/fleet.ts';

/** Sum of a batch's states; must be its total at every instant. */
export function sumOf(
  counts: Omit<BatchCounts, 'total' | 'sending' | 'possiblySentTwice'>,
): number {
  const { pending, accepted, rejected, unknown, expired, cancelled } = counts;
  return pending + accepted + rejected + unknown + expired + cancelled;
}

/** What was handed over under one policy. */
export interface HandedOver {
  readonly delivery: DeliveryPolicy;
  /** Contacts of the batch, whose id is the name of the policy, and those among them for which the service refuses a request. */
  readonly listed: readonly string[];
  readonly spoiled: readonly string[];
  /** Contact of each single notice, by the id in its receipt; and those that the service refuses for themselves. */
  readonly notices: ReadonlyMap<string, string>;
  readonly bad: ReadonlyMap<string, string>;
  /** The same of notices that may be lost, or not be sent: their scenario itself looks at that. */
  readonly others: ReadonlyMap<string, string>;
  /** When each notice was handed over, by its contact: milliseconds since the epoch. */
  readonly handedAt: ReadonlyMap<string, number>;
  readonly seen: {
    /** Looks at the ledger meanwhile, and those at which the states did not make up the total. */
    looks: number;
    wrongSums: number;
    /** Jobs that workers held when faults were injected. */
    underWay: number;
  };
}

/**
 * All that the judge looks at, when everything has ended: what was handed over under one policy, the record of the
 * service, and what a user sees of the program. No key of Redis and no field of BullMQ. Of what the program counts for
 * both policies together, it is the part of this one (apart.ts).
 */
export interface Evidence extends HandedOver {
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
  /** `notices failures --state unknown --json`, and the contacts of `notices failures --state unknown --csv`. */
  readonly unknown: {
    readonly notices: readonly Pick<UnknownNotice, 'id' | 'possiblySent'>[];
    /** With the job of the chunk that each is in. */
    readonly ofBatch: ReadonlyMap<string, string>;
  };
  /** The metric `notices_possibly_sent_twice_contacts`, by lane. */
  readonly metrics: Status['possiblySentTwice'];
  /** The lines `attempt` in the log of every worker. */
  readonly attempts: readonly LogLine[];
  /** ATTEMPTS and UNKNOWN_RESENDS of the workers. */
  readonly attemptsOfJob: number;
  readonly unknownResends: number;
}

/** What became of what was handed over. Counts are contacts unless said otherwise. */
export type Fate = ReturnType<typeof judge>;

const most = (values: Iterable<number>) => Math.max(0, ...values);

/** Compares what the program reports with the record of the service, which decides. */
export function judge(evidence: Evidence) {
  const { delivery, listed, notices, record, status, batch, unknown, metrics, attempts } = evidence;
  const { bad, spoiled, attemptsOfJob, unknownResends } = evidence;
  const contacts = [...listed, ...notices.values()];
  const ofBatch = new Set(listed);
  const again = status.possiblySentTwice;

  const twice = [...record].filter(([, count]) => count > 1);
  const extraOf = (lane: 'notices' | 'chunks') =>
    twice
      .filter(([contact]) => ofBatch.has(contact) === (lane === 'chunks'))
      .reduce((sum, [, count]) => sum + count - 1, 0);
  const countedOfBatch = Math.min(batch.possiblySentTwice, again.chunks);

  const goodUnknown = unknown.notices.filter(({ id }) => !bad.has(id));
  const unknownContacts = new Set([
    ...unknown.ofBatch.keys(),
    ...goodUnknown.map(({ id }) => notices.get(id) ?? id),
  ]);
  const { waiting, active, delayed, failed: rejected } = status.jobs;
  const badUnknown = unknown.notices.length - goodUnknown.length;
  const badTaken = [...bad.values(), ...spoiled].filter((contact) => record.has(contact)).length;
  const isSpoiled = new Set(spoiled);
  const spoiledRejected = spoiled.filter((contact) => !unknownContacts.has(contact)).length;

  const jobsWith = (fits: (line: LogLine) => boolean) =>
    new Set(attempts.filter(fits).map(({ job }) => String(job)));
  const accepted = jobsWith(({ outcome }) => outcome === 'accepted');
  const named = jobsWith(({ possiblySent }) => Number(possiblySent ?? 0) >= 1);
  const endedOtherwise = jobsWith(
    ({ job, outcome }) =>
      (outcome === 'expired' || outcome === 'cancelled') && notices.has(String(job)),
  );
  const idOf = new Map([...notices].map(([id, contact]) => [contact, id]));
  const taken = listed.filter((contact) => record.has(contact)).length;
  const phantoms = [...notices].filter(([id, contact]) => accepted.has(id) && !record.has(contact));
  return {
    delivery,
    ...evidence.seen,
    /** Handed over in the batch, and what the states of the batch add up to. */
    listed: listed.length,
    sum: sumOf(batch),
    /** Handed over in all. */
    handedOver: contacts.length + bad.size,
    /** Neither taken by the service nor listed as unknown. */
    lost: contacts.filter(
      (contact) => !record.has(contact) && !unknownContacts.has(contact) && !isSpoiled.has(contact),
    ).length,
    /** Taken more than once. */
    twice: twice.length,
    /** Acceptances beyond the first of a contact that `possiblySentTwice` does not cover, lane by lane. */
    uncounted:
      Math.max(0, extraOf('notices') - again.notices) +
      Math.max(0, extraOf('chunks') - countedOfBatch),
    /** Single notices taken more than once of which no attempt in the log has `possiblySent`. */
    unnamed: twice.filter(
      ([contact]) => !ofBatch.has(contact) && !named.has(idOf.get(contact) ?? ''),
    ).length,
    /** Listed as unknown, for a person to decide. */
    unknown: unknownContacts.size,
    /** At-least-once: those among them that were not sent as often as UNKNOWN_RESENDS allows. */
    setAside: delivery === 'at-least-once' ? setAside(evidence, goodUnknown) : 0,
    /** `possiblySentTwice` of both lanes: sent again although the attempt before may have been taken. */
    again: Math.max(0, again.notices) + Math.max(0, again.chunks),
    /** By how much commands and metrics differ where they report the same. */
    misreported:
      Math.abs(metrics.notices - again.notices) +
      Math.abs(metrics.chunks - again.chunks) +
      Math.abs(batch.unknown - unknown.ofBatch.size),
    /** Reported as accepted, by the batch or in the log, and not in the service's record. */
    phantom: Math.max(0, batch.accepted - taken) + phantoms.length,
    /** Ended otherwise than as accepted or unknown, or in two ways. */
    misled:
      Math.abs(batch.rejected - spoiledRejected) +
      batch.expired +
      batch.cancelled +
      batch.pending +
      (waiting + active + delayed) +
      endedOtherwise.size +
      (bad.size === 0 ? Math.abs(rejected) : 0),
    /** Notices and contacts that the service refuses for themselves, and those that did not end as rejected. */
    bad: bad.size + spoiled.length,
    badAmiss: badTaken + (bad.size === 0 ? 0 : Math.abs(bad.size - badUnknown - rejected)),
    /** Tokens issued, and tokens that died before their time. */
    issued: evidence.issued,
    invalidated: evidence.invalidated,
    /** The most attempts of one job beyond its first. */
    repeated: attempts
      .filter(({ job }) => !bad.has(String(job)))
      .reduce((repeated, { attempt }) => Math.max(repeated, Number(attempt) - 1), 0),
    /** Attempts whose outcome was unknown, probes excepted. */
    inDoubt: attempts.filter(({ outcome, probe }) => outcome === 'unknown' && probe !== true)
      .length,
    /** How often the service took a contact at most, and what UNKNOWN_RESENDS allows. */
    mostTaken: contacts.reduce((taken, contact) => Math.max(taken, record.get(contact) ?? 0), 0),
    mostAllowed: 1 + unknownResends,
    /** The most requests for one job, probes of holds excepted, and what its settings allow. */
    mostRequests: mostRequests(attempts),
    requestBound: 2 * attemptsOfJob + unknownResends + 1,
    /** The longest time from the receipt of a good single notice to its acceptance, where it is kept. */
    longestWaitMs: longestWait(evidence),
    /** Whether a hold is left. */
    holdLeft: status.hold !== undefined,
  };
}

/**
 * Listed as unknown although neither their attempts nor their resends are used up. A contact that the service
 * refuses after an attempt that it may have accepted is unknown for good reason.
 */
function setAside(
  { spoiled, unknown, attempts, attemptsOfJob, unknownResends }: Evidence,
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
  return (
    [...unknown.ofBatch].filter(([contact, job]) => !usedUp.has(job) && !spoiled.includes(contact))
      .length +
    notices.filter(({ id, possiblySent }) => possiblySent <= unknownResends && !usedUp.has(id))
      .length
  );
}

function mostRequests(attempts: readonly LogLine[]): number {
  const byJob = new Map<unknown, number>();
  for (const { job, requests, probe } of attempts) {
    if (probe === true) continue;
    byJob.set(job, (byJob.get(job) ?? 0) + Number(requests ?? 0));
  }
  return most(byJob.values());
}

/** Infinity for a notice that was not accepted. */
function longestWait({ notices, handedAt, acceptedAt }: Evidence): number {
  if (acceptedAt.size === 0) return 0;
  return most(
    [...notices.values()].map(
      (contact) => (acceptedAt.get(contact) ?? Infinity) - (handedAt.get(contact) ?? 0),
    ),
  );
}
