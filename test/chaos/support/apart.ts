import type { BatchCounts } from '../../../src/batch/ledger/batch-record.ts';
import type { LogLine } from '../../support/fleet.ts';
import type { Evidence, HandedOver } from './judge.ts';

/** What is seen of both policies together, when everything has ended. */
export interface Whole extends Omit<Evidence, keyof HandedOver | 'batch' | 'unknown'> {
  /** `notices failures --json`: the rejected and the unknown. */
  readonly failures: readonly (Evidence['unknown']['notices'][number] & {
    readonly state: string;
  })[];
}

/** A load, and what is seen of its batch. */
export interface Part {
  readonly load: HandedOver;
  readonly batch: BatchCounts;
  /** As `ofBatch` of the evidence. */
  readonly unknownOfBatch: ReadonlyMap<string, string>;
}

type Ids = Pick<HandedOver, 'delivery' | 'notices' | 'bad' | 'others'>;

/** Whether a job is of this load, by its id. */
export const isOf = ({ delivery, notices, bad, others }: Ids, id: string): boolean =>
  id.startsWith(`c-${delivery}-`) || notices.has(id) || bad.has(id) || others.has(id);

export const contactsOf = ({ listed, notices, bad, others }: HandedOver) => [
  ...listed,
  ...[notices, bad, others].flatMap((handed) => [...handed.values()]),
];

const sum = (counts: Iterable<number>) => [...counts].reduce((all, count) => all + count, 0);

/**
 * How often notices of a load were sent again, as the log tells. No such resend is missing there: one whose worker died
 * before its line makes a stall of its job, which the next line counts.
 */
function resentInLog(load: HandedOver, attempts: readonly LogLine[]): number {
  const resends = new Map<string, number>();
  for (const { job, outcome, possiblySent = 0 } of attempts) {
    const id = String(job);
    if (id.startsWith('c-') || !isOf(load, id)) continue;
    const before = Number(possiblySent) - (outcome === 'unknown' ? 1 : 0);
    resends.set(id, Math.max(resends.get(id) ?? 0, before));
  }
  return sum(resends.values());
}

/**
 * The evidence of each load alone. What belongs to none of them is held against each. What the program counts for all
 * together is compared with the sum: a load has what is left of it without the others. Of notices sent again,
 * at-most-once has what the log tells, where it should be nothing, and at-least-once the rest.
 */
export function tellApart(whole: Whole, parts: readonly Part[]): Evidence[] {
  const { status, metrics, attempts, failures } = whole;
  const once = parts.filter(({ load }) => load.delivery === 'at-most-once');
  const noticesOfOnce =
    once.length === parts.length
      ? status.possiblySentTwice.notices
      : sum(once.map(({ load }) => resentInLog(load, attempts)));
  return parts.map((part) => {
    const { load, batch, unknownOfBatch } = part;
    const rest = parts.filter((other) => other !== part);
    const isOther = (id: string) => rest.some((other) => isOf(other.load, id));
    const contacts = new Set(rest.flatMap((other) => contactsOf(other.load)));
    const ofOthers = {
      notices: once.includes(part)
        ? status.possiblySentTwice.notices - noticesOfOnce
        : noticesOfOnce,
      chunks: sum(rest.map((other) => other.batch.possiblySentTwice)),
    };
    const left = (counts: Evidence['metrics']) => ({
      notices: counts.notices - ofOthers.notices,
      chunks: counts.chunks - ofOthers.chunks,
    });
    const failed = failures.filter(({ id }) => !isOther(id));
    const rejectedOfOthers = failures.filter(({ id, state }) => isOther(id) && state !== 'unknown');
    return {
      ...whole,
      ...load,
      batch,
      unknown: {
        notices: failed.filter(({ state }) => state === 'unknown'),
        ofBatch: unknownOfBatch,
      },
      record: new Map([...whole.record].filter(([contact]) => !contacts.has(contact))),
      attempts: attempts.filter(({ job }) => !isOther(String(job))),
      status: {
        ...status,
        jobs: { ...status.jobs, failed: status.jobs.failed - rejectedOfOthers.length },
        possiblySentTwice: left(status.possiblySentTwice),
      },
      metrics: left(metrics),
    };
  });
}
