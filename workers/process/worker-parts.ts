import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { repeat } from '../../src/async/repeat.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import type { Sealing } from '../../src/payload/seal.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import { DoNotSendList } from '../../src/suppression/do-not-send.ts';
import { SendCheck } from '../../src/suppression/send-check.ts';
import type { TrafficTally } from '../../src/traffic/traffic.ts';
import type { WorkerBasis } from '../maintenance/worker-basis.ts';

/** Each job asks: a failure is logged no more often than this. */
const LOG_AGAIN_MS = 10_000;

/**
 * What a worker asks before it sends.
 * @param withoutKey called with how long the worker is not ready from now on, where the list's key cannot be read
 */
export function createSendCheck(
  { redis, hints, keys, log }: WorkerBasis,
  sealing: Sealing,
  withoutKey: (forMs: number) => void,
): SendCheck {
  let quietUntil = 0;
  const onFailure = (error: unknown) => {
    const known = error instanceof NoticeQueueError ? error : undefined;
    if (known?.code === 'NOT_POSSIBLE') withoutKey(2 * LOG_AGAIN_MS);
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + LOG_AGAIN_MS;
    const { code, message } = known ?? {};
    const fields = known === undefined ? redisErrorFields(error) : { code, message };
    log.warn({ event: 'trouble', where: 'do-not-send', ...fields });
  };
  const list = new DoNotSendList(redis, keys, sealing);
  return new SendCheck(list, redis, hints, keys, onFailure);
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
