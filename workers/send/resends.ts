import type { Job } from 'bullmq';

/*
 * At-least-once. How often a job was possibly sent: by attempts whose outcome is unknown, and by workers
 * that died with it (a stall). It is kept in the reason that BullMQ stores with a failed attempt, in the
 * same step that moves the job, and so is never lost between the two.
 *
 * Once possibly sent, always possibly sent until accepted: a later rejection, a deadline that passes or
 * attempts that run out prove nothing about the earlier request.
 */

/** The mark, with the count and the stalls that it contains; marks of older versions have neither. */
const MARK = /\(may have been taken(?:: (\d+), stalls (\d+))?\)$/;

/** How often the service may have accepted a job in earlier attempts. */
export function possiblySentBefore({
  failedReason,
  stalledCounter,
}: Pick<Job, 'failedReason' | 'stalledCounter'>): number {
  const stalls = stalledCounter || 0;
  const mark = MARK.exec(failedReason ?? '');
  if (mark === null) return stalls;
  const [, count = '1', counted = '0'] = mark;
  return Number(count) + Math.max(0, stalls - Number(counted));
}

/**
 * The reason that is stored with an attempt of a job that was possibly sent.
 *
 * @param count how often, this attempt included; 0 adds no mark
 */
export function withPossiblySentMark(
  detail: string,
  count: number,
  { stalledCounter }: Pick<Job, 'stalledCounter'>,
): string {
  if (count === 0) return detail;
  const mark = `(may have been taken: ${count}, stalls ${stalledCounter || 0})`;
  return detail === '' ? mark : `${detail} ${mark}`;
}
