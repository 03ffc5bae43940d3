import type { Job } from 'bullmq';
import type { JobData } from '../../src/contracts/job.ts';
import { failureOf } from '../../src/contracts/possibly-sent.ts';
import { appendNoticeEnd, type EndEntry } from '../../src/events/announce.ts';
import type { EndState } from '../../src/events/event.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { inOneWrite } from '../../src/redis/one-write.ts';
import { UnknownOutcomeError } from '../queue/attempt-error.ts';
import type { AnnounceEnd, JobEnd } from '../queue/send-job.ts';

/**
 * Appends an event for the end of each single notice, in the write that ends its job.
 *
 * @param most NOTICE_EVENTS
 * @returns undefined where no events are kept: a send costs nothing more
 */
export function announceEnds(
  redis: RedisClient,
  keys: Pick<Keys, 'events' | 'noticeLock'>,
  most: number,
): AnnounceEnd | undefined {
  if (most === 0) return undefined;
  return (job, end, error, lockToken) => {
    inOneWrite(redis);
    return appendNoticeEnd(redis, keys, eventOfEnd(job, end, error), most, lockToken);
  };
}

/** The event of an end. @param error the one that ended a failed job; undefined where it is not known */
function eventOfEnd(
  job: Pick<Job, 'id' | 'data' | 'stalledCounter'>,
  end: JobEnd,
  error: Error | undefined,
): EndEntry {
  const { id = '', stalledCounter } = job;
  const { delivery, accepted, settled } = (job.data as JobData | null) ?? {};
  if (end.kind === 'completed') {
    const state = stateOfResult(end.result);
    return { notice: id, state, code: state === 'expired' ? 'EXPIRED' : '' };
  }
  const { reason } = end;
  // What was possibly sent of a notice that is settled in part may be the contacts that are accepted since.
  const isSettled = error !== undefined && (accepted ?? settled) !== undefined;
  const hasStalled = stalledCounter > 0 && delivery !== 'at-most-once' && !isSettled;
  const isUnknown = error instanceof UnknownOutcomeError || hasStalled;
  return { notice: id, state: isUnknown ? 'unknown' : 'rejected', code: codeOf(reason) };
}

function stateOfResult(result: unknown): EndState {
  const outcome = (result as { outcome?: unknown } | null)?.outcome;
  return outcome === 'expired' || outcome === 'cancelled' ? outcome : 'accepted';
}

/** The code of a failed attempt. An error of the program has a text in its place, which may contain anything. */
function codeOf(reason: string): string {
  const { code } = failureOf(reason);
  return /^\S{1,100}$/.test(code) ? code : 'INTERNAL_ERROR';
}
