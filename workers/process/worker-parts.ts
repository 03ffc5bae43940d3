import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { repeat } from '../../src/async/repeat.ts';
import type { Sealing } from '../../src/payload/seal.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import { DoNotSendList } from '../../src/suppression/do-not-send.ts';
import { SendCheck } from '../../src/suppression/send-check.ts';
import type { TrafficTally } from '../../src/traffic/traffic.ts';
import type { WorkerBasis } from '../maintenance/worker-basis.ts';

/** What a worker asks before it sends. */
export function createSendCheck({ redis, hints, keys }: WorkerBasis, sealing: Sealing): SendCheck {
  return new SendCheck(new DoNotSendList(redis, keys, sealing), redis, hints, keys);
}

/** Adds what a worker has sent to the traffic record, with each heartbeat and at its stop. */
export function createReports(
  { config, redis, keys, log }: WorkerBasis,
  traffic: TrafficTally,
  now: () => number,
): BackgroundService {
  const report = () =>
    traffic.write(redis, keys, now()).catch((error: unknown) => {
      log.warn({ event: 'traffic-trouble', ...redisErrorFields(error) });
    });
  const reports = repeat(report, config.worker.heartbeatMs);
  return { start: () => reports.start(), stop: () => reports.stop().then(report) };
}
