import { announceAccepted } from '../../src/events/announce.ts';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { repeat } from '../../src/async/repeat.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { othersAccepted } from '../../src/fleet/heartbeat.ts';
import { HoldGate, type HoldGateOptions } from '../../src/fleet/hold/hold-gate.ts';
import type { Sealing } from '../../src/payload/seal.ts';
import { inOneWrite } from '../../src/redis/connect.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import { pairName } from '../../src/redis/keys.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { DoNotSendList } from '../../src/suppression/do-not-send.ts';
import { SendCheck } from '../../src/suppression/send-check.ts';
import { SharedToken } from '../../src/token/shared-token.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import type { TrafficTally } from '../../src/traffic/traffic.ts';
import type { WorkerBasis } from '../maintenance/worker-basis.ts';
import type { AnnounceAccepted } from '../queue/send-job.ts';

/** Appends the events of accepted notices. Without events, a send costs nothing more. */
export function announcer({ config, redis, keys }: WorkerBasis): AnnounceAccepted | undefined {
  const { noticeEvents } = config.worker;
  if (noticeEvents === 0) return undefined;
  return (notice, lockToken) => {
    inOneWrite(redis);
    return announceAccepted(redis, keys, notice, noticeEvents, lockToken);
  };
}

/** The shared token of a worker, whose events are in its log and its metrics. */
export function createTokens(basis: WorkerBasis, service: ServiceClient): SharedToken {
  const { id, config, redis, hints, keys, log, health } = basis;
  const pair = pairName(config.service);
  return new SharedToken({
    redis,
    hints,
    keys: keys.token(pair),
    seal: new TokenSeal(config.service.secretKey, pair),
    issue: (signal) => service.issueToken(signal),
    settings: config.token,
    issuer: id,
    onEvent: (event) => {
      const { kind, ...facts } = event;
      log.info({ event: `token-${kind}`, ...facts });
      health?.counted.tokenEvent(event);
    },
    ...(health === undefined ? {} : { onWait: (ms) => health.counted.tokenWait(ms) }),
  });
}

const ALONE_WORDS =
  'requests of this worker fail, and those of others do not: compare its key pair, address and network with theirs';

/** The holds of a worker, in its log and its readiness. @param suspend takes no further jobs, or takes them again */
export function createHolds(
  { id, config, redis, hints, keys, log, readiness }: WorkerBasis,
  now: () => number,
  onHeld: () => void,
  onTemplateHeld: HoldGateOptions['onTemplateHeld'],
  suspend: (suspended: boolean) => void,
): HoldGate {
  return new HoldGate({
    redis,
    hints,
    keys,
    id,
    settings: config.worker,
    now,
    othersAccepted: () => othersAccepted(redis, keys, id),
    onMove: (move) => {
      log.info({ event: 'hold', ...move }, `queue ${move.kind}`);
      if (move.kind === 'held') onHeld();
    },
    onAside: (aside) => {
      suspend(aside !== undefined);
      readiness.set('alone', aside !== undefined);
      if (aside === undefined) log.info({ event: 'worker-returns' });
      else log.error({ event: 'worker-alone', ...aside }, ALONE_WORDS);
    },
    onTemplateHeld: (held) => {
      log.error({ event: 'template-held', ...held }, 'the notices of a template wait');
      onTemplateHeld(held);
    },
  });
}

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
