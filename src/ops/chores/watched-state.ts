import type { WatchedState } from '../../events/conditions.ts';
import { readFleet, type FleetSource } from '../snapshot.ts';

/** Reads what the watch judges, with some twenty commands; none scans. */
export async function readWatched(source: FleetSource): Promise<WatchedState> {
  const found = await readFleet(
    source,
    'now',
    'hold',
    'workers',
    'noticeJobs',
    'chunkJobs',
    'noticeWaitingSince',
    'unknownNotices',
    'unknownContacts',
    'redis',
  );
  const { now, hold, workers, noticeJobs, chunkJobs, redis } = found;
  return {
    now,
    hold,
    workers: workers.length,
    waiting: noticeJobs.waiting + chunkJobs.waiting,
    waitingSince: found.noticeWaitingSince,
    unknownNotices: found.unknownNotices,
    unknownContacts: found.unknownContacts,
    usedBytes: redis.usedBytes,
    limitBytes: redis.maxBytes || redis.machineBytes,
  };
}
