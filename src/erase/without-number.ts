import type { JobData, SettledContact } from '../contracts/job.ts';
import { sendsOfAll, type PossibleSends } from '../contracts/outcome.ts';

/** How a notice has ended for the contacts that are left of it. */
export interface EndForOthers {
  readonly state: 'accepted' | SettledContact['state'];
  /** Why its job failed; empty for an accepted one. */
  readonly code: string;
  /** Of an unknown one. */
  readonly sends?: PossibleSends;
}

/** What is left of a job's data without a number. */
export interface DataForOthers {
  readonly data: JobData;
  /**
   * Where the notice ends anew: all contacts that it has ended for are gone. Then the worst of the others decide,
   * as at the end of an attempt (settleNotice in workers/send/notice-decision.ts).
   */
  readonly end?: EndForOthers;
}

/**
 * The data of a job without a number, which may be among the contacts, or among those that have a result of their own.
 *
 * @returns `absent` if it does not have the number, `nothing` if it has no other one
 */
export function withoutNumber(job: JobData, number: string): DataForOthers | 'absent' | 'nothing' {
  const { notice, accepted = [], settled = [] } = job;
  const contacts = notice.contacts.filter(({ contact }) => contact !== number);
  const acceptedOthers = accepted.filter((one) => one !== number);
  const settledOthers = settled.filter(({ contact }) => contact.contact !== number);
  const before = notice.contacts.length + accepted.length + settled.length;
  const after = contacts.length + acceptedOthers.length + settledOthers.length;
  if (after === before) return 'absent';
  if (after === 0) return 'nothing';
  // A list that becomes empty stays: the service has accepted or refused a part of the notice.
  const keep = (
    left: JobData['notice']['contacts'],
    beside: Required<Pick<JobData, 'accepted' | 'settled'>>,
  ): JobData => ({
    ...job,
    notice: { ...notice, contacts: left },
    ...(job.accepted === undefined ? {} : { accepted: beside.accepted }),
    ...(job.settled === undefined ? {} : { settled: beside.settled }),
  });
  if (contacts.length > 0) {
    return { data: keep(contacts, { accepted: acceptedOthers, settled: settledOthers }) };
  }
  const worst = settledOthers.find(({ state }) => state === 'unknown') ?? settledOthers[0];
  if (worst === undefined) {
    const left = acceptedOthers.map((contact) => ({ contact }));
    const end = { state: 'accepted', code: '' } as const;
    return { data: keep(left, { accepted: [], settled: [] }), end };
  }
  const { state, code } = worst;
  const isWorst = (one: SettledContact) => one.state === state;
  const left = settledOthers.filter(isWorst);
  const data = keep(
    left.map(({ contact }) => contact),
    { accepted: acceptedOthers, settled: settledOthers.filter((one) => !isWorst(one)) },
  );
  const sends = state === 'unknown' ? { sends: sendsOfAll(left) } : {};
  return { data, end: { state, code, ...sends } };
}
