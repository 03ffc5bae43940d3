import type { Logger } from 'pino';
import type { WorkerConfig, ServiceConfig } from '../../src/config/config.ts';
import { announceAccepted } from '../../src/events/announce.ts';
import { othersAccepted } from '../../src/fleet/heartbeat.ts';
import { type HoldSettings, HoldGate } from '../../src/fleet/hold/hold-gate.ts';
import type { NamedHold } from '../../src/fleet/hold/template-hold.ts';
import { readEnded } from '../../src/notices/ended.ts';
import { sendAgain, withNotices } from '../../src/notices/send-again.ts';
import { type RedisClient, inOneWrite } from '../../src/redis/connect.ts';
import type { Hints } from '../../src/redis/hints.ts';
import { pairName, type Keys } from '../../src/redis/keys.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { SharedToken } from '../../src/token/shared-token.ts';
import type { TokenSettings } from '../../src/token/token-decision.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import type { ProcessHealth } from '../health/process-health.ts';
import type { UnreadyReasons } from '../health/readiness.ts';
import type { SendWorker } from '../queue/send-job.ts';
import { buildSendWorker, type SendWorkerOptions } from '../queue/send-worker.ts';
import { runChunk } from '../send/chunk-job.ts';
import type { ChunkContext } from '../send/chunk-record.ts';
import { runNotice, type NoticeContext } from '../send/notice-job.ts';
import { untilDone } from '../send/gate-job.ts';

/** Builds the worker of single notices, not yet running. */
export function buildNoticeWorker(
  options: SendWorkerOptions & { readonly settings: WorkerConfig },
  context: NoticeContext,
): SendWorker {
  const { redis, keys, settings } = options;
  const { noticeEvents } = settings;
  // Without events, a send costs nothing more.
  const announce =
    noticeEvents === 0
      ? undefined
      : (notice: string, lockToken?: string) => {
          inOneWrite(redis);
          return announceAccepted(redis, keys, notice, noticeEvents, lockToken);
        };
  const forget = (job: string) => context.histories.forget(job);
  return buildSendWorker({ ...options, announce, forget }, (job, lockToken) =>
    runNotice({ job, lockToken }, context),
  );
}

/** Builds the worker of batches' chunks, not yet running. */
export function buildChunkWorker(options: SendWorkerOptions, context: ChunkContext): SendWorker {
  const forget = (job: string) => context.histories.forget(job);
  return buildSendWorker({ ...options, forget }, (job, lockToken) =>
    runChunk({ job, lockToken }, context),
  );
}

/** What the shared token of a worker needs. */
export interface WorkerTokenOptions {
  readonly redis: RedisClient;
  readonly hints: Hints;
  readonly keys: Keys;
  readonly config: { readonly service: ServiceConfig; readonly token: TokenSettings };
  readonly service: Pick<ServiceClient, 'issueToken'>;
  /** Id of the worker. */
  readonly id: string;
  readonly log: Logger;
  readonly health: ProcessHealth | undefined;
}

/** The shared token of a worker, whose events are in its log and its metrics. */
export function createTokens(options: WorkerTokenOptions): SharedToken {
  const { redis, hints, keys, config, service, id, log, health } = options;
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

/** What the holds of a worker need. */
export interface CreateHoldsOptions {
  readonly redis: RedisClient;
  readonly hints: Hints;
  readonly keys: Keys;
  /** Id of the worker. */
  readonly id: string;
  readonly settings: HoldSettings;
  /** Redis time. */
  readonly now: () => number;
  readonly onHeld: () => void;
  readonly onTemplateHeld: (held: NamedHold) => void;
  /** Takes no further jobs, or takes them again. */
  readonly suspend: (suspended: boolean) => void;
  readonly readiness: UnreadyReasons;
  readonly log: Logger;
}

/** The holds of a worker, in its log and its readiness. */
export function createHolds({
  redis,
  hints,
  keys,
  id,
  settings,
  now,
  onHeld,
  onTemplateHeld,
  suspend,
  readiness,
  log,
}: CreateHoldsOptions): HoldGate {
  return new HoldGate({
    redis,
    hints,
    keys,
    id,
    settings,
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

/** Puts a notice back to waiting that was rejected a moment ago: its template is held. */
export function takeBackNotice(redis: RedisClient, keys: Keys, id: string): Promise<void> {
  return withNotices(redis, keys, (queue) =>
    untilDone(async () => {
      const [entry] = await readEnded(redis, keys, [id]);
      // Its end may not be recorded yet, or its job not be gone.
      if (entry === undefined) return false;
      return entry.state !== 'rejected' || (await sendAgain(redis, keys, queue, entry));
    }),
  );
}
