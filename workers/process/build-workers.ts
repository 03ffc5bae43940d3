import { announceAccepted } from '../../src/events/announce.ts';
import { othersAccepted } from '../../src/fleet/heartbeat.ts';
import { HoldGate, type HoldGateOptions } from '../../src/fleet/hold/hold-gate.ts';
import { inOneWrite } from '../../src/redis/connect.ts';
import { pairName } from '../../src/redis/keys.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { SharedToken } from '../../src/token/shared-token.ts';
import { wasRefused } from '../../src/token/token-status.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import type { AnnounceAccepted } from '../queue/send-job.ts';
import type { WorkerBasis } from '../maintenance/worker-basis.ts';

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
    onWait: (ms) => health?.counted.tokenWait(ms),
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

/** A hold for refused keys is of another key pair, where the service did not refuse the one of this worker. */
export async function probeWithOwnKeys(
  { redis, keys, config }: WorkerBasis,
  holds: HoldGate,
): Promise<void> {
  const own = keys.token(pairName(config.service));
  if (!(await wasRefused(redis, own))) await holds.tryOtherKeys();
}
