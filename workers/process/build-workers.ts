import type { Logger } from 'pino';
import type { Job } from 'bullmq';
import type { WorkerConfig, ServiceConfig } from '../../src/config/config.ts';
import type { JobData } from '../../src/contracts/job.ts';
import { failureOf } from '../../src/contracts/outcome.ts';
import { appendNoticeEnd, type EndEntry } from '../../src/events/announce.ts';
import type { EndState } from '../../src/events/event.ts';
import { othersAccepted } from '../../src/fleet/heartbeat.ts';
import { type HoldSettings, HoldGate } from '../../src/fleet/hold/hold-gate.ts';
import type { NamedHold } from '../../src/fleet/hold/template-hold.ts';
import { sendAgain } from '../../src/notices/change-failed.ts';
import { lookUpNotice } from '../../src/notices/look-up.ts';
import { type RedisClient, inOneWrite } from '../../src/redis/connect.ts';
import type { Hints } from '../../src/redis/hints.ts';
import { pairName, type Keys } from '../../src/redis/keys.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { SharedToken } from '../../src/token/shared-token.ts';
import type { TokenSettings } from '../../src/token/token-decision.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import type { ProcessHealth } from '../health/process-health.ts';
import type { UnreadyReasons } from '../health/readiness.ts';
import { UnknownOutcomeError } from '../queue/attempt-error.ts';
import type { SendWorker, AnnounceEnd, JobEnd } from '../queue/send-job.ts';
import { buildSendWorker, type SendWorkerOptions } from '../queue/send-worker.ts';
import { runChunk } from '../send/chunk-job.ts';
import type { ChunkContext } from '../send/chunk-record.ts';
import { listUnknown } from '../send/list-unknown.ts';
import { runNotice, type NoticeContext } from '../send/notice-job.ts';
import { untilDone } from '../send/take-back.ts';

/** Builds the worker of single notices, not yet running. */
export function buildNoticeWorker(
  options: SendWorkerOptions & { readonly settings: WorkerConfig },
  shared: Omit<NoticeContext, 'listUnknown'>,
): SendWorker {
  const { redis, keys, settings } = options;
  const context = { ...shared, listUnknown: listUnknown(shared) };
  const announce = announceEnds(redis, keys, settings.noticeEvents);
  const forget = (job: string) => shared.histories.forget(job);
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
  return untilDone(async () => {
    const notice = await lookUpNotice({ redis, keys }, id);
    if (notice.state === 'sending' || notice.state === 'pending') return false;
    if (notice.state === 'rejected') await sendAgain(redis, keys, notice, 0);
    return true;
  });
}

/**
 * Appends an event for the end of each single notice, in the write that ends its job.
 *
 * @param most NOTICE_EVENTS
 * @returns undefined where no events are kept: a send costs nothing more
 */
function announceEnds(
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
