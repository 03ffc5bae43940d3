import type { Job } from 'bullmq';
import { pino } from 'pino';
import type { Passage } from '../../../../src/fleet/hold/passage.ts';
import type { JobData } from '../../../../src/contracts/job.ts';
import type { Contact } from '../../../../src/contracts/notice.ts';
import type { DeliveryPolicy } from '../../../../src/contracts/delivery.ts';
import { startEmulator, type Emulator } from '../../../../src/emulator/emulator.ts';
import type { EmulatorOptions } from '../../../../src/emulator/options.ts';
import { Intents } from '../../../../src/fleet/intents/intents.ts';
import { keysOf, type Keys } from '../../../../src/redis/keys.ts';
import { createServiceClient, type ServiceClient } from '../../../../src/service/client.ts';
import { loadConfig } from '../../../../src/config/config.ts';
import { AttemptLog } from '../../../../workers/send/attempt-log.ts';
import { SendGate } from '../../../../workers/send/send-gate.ts';
import type { HeldNotice, NoticeEnd } from '../../../../workers/send/held-notice.ts';
import { sendGroup, type GroupContext } from '../../../../workers/send/send-group.ts';
import { noticeIntent } from '../../../../workers/send/notice-intent.ts';
import { pendingNotice } from '../../../../workers/send/coalescer.ts';
import type { TestRedis } from '../../../support/redis.ts';
import { NOT_REFUSED } from '../../../support/not-refused.ts';

const LOCK = 'lock';

/** A notice of a group, and what the group's run told it. */
export interface TestNotice extends HeldNotice {
  readonly id: string;
  /** Set by a test: the lock of the job may be lost. */
  isLost: boolean;
  /** What its job was to keep, the newest last. */
  readonly kept: JobData[];
  readonly ends: NoticeEnd[];
}

/** What a group is sent with: a real emulator, client and Redis; gate and token source by hand. */
export interface GroupStage {
  readonly emulator: Emulator;
  readonly keys: Keys;
  readonly intents: Intents;
  readonly stopping: AbortController;
  /** Lines of the log. */
  readonly lines: Record<string, unknown>[];
  /** Called before a token is handed out, right before a request. */
  beforeToken: () => Promise<void>;
  /** What the gate answers next. */
  passage: Passage | undefined;
  /** Outcomes that left the gate: 'succeeded', 'undecided', 'abandoned' or a kind of hold. */
  readonly left: string[];
  /** Contacts that are counted as possibly sent twice. */
  twice: number;
  /** @param more with the reason of its last failed attempt, and contacts that left it before */
  notice(
    contact: string,
    more?: Pick<JobData, 'expiresAt' | 'settled'> & { readonly failedReason?: string },
  ): Promise<TestNotice>;
  send(notices: readonly TestNotice[]): ReturnType<typeof sendGroup>;
  /** Sends what a refused group goes on in. */
  sendPart(part: Awaited<ReturnType<typeof sendGroup>>[number]): ReturnType<typeof sendGroup>;
  close(): Promise<void>;
}

/** @param delivery of all its notices */
export async function openGroupStage(
  redis: TestRedis,
  delivery: DeliveryPolicy = 'at-least-once',
  options: EmulatorOptions = {},
): Promise<GroupStage> {
  const emulator = await startEmulator(options);
  const { service: settings } = loadConfig({
    BASE_URL: emulator.url,
    ACCESS_KEY: 'emulator-access-key',
    SECRET_KEY: 'emulator-secret-key',
    ANSWER_TIMEOUT_MS: '500',
  });
  if (settings === undefined) throw new Error('the configuration has no service');
  const service: ServiceClient = createServiceClient(settings);
  const keys = keysOf(redis.freshPrefix(), 'default');
  const intents = new Intents(redis.client, keys);
  const stopping = new AbortController();
  const lines: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'debug', base: null },
    { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const log = new AttemptLog(logger);
  const left: string[] = [];
  const token = async () => {
    await stage.beforeToken();
    const { value } = await service.issueToken();
    return { id: value.slice(0, 16), value };
  };
  const parts: GroupContext = {
    service,
    tokens: {
      get: token,
      renew: token,
      renewalHelped: () => Promise.resolve(),
    },
    gate: new SendGate({
      isSuspended: () => false,
      isComplete: () => Promise.resolve(true),
      holds: {
        enter: () => Promise.resolve(stage.passage),
        meet: ({ hold, class: as }) => {
          left.push(as === 'unknown' ? as : hold);
          return Promise.resolve(
            as === 'unknown'
              ? { kind: 'counted', disproved: false, first: false }
              : { kind: 'held', behindMs: 0 },
          );
        },
        accepted: () => {
          left.push('accepted');
          return Promise.resolve();
        },
      },
      rateLimiter: { throttled: () => Promise.resolve() },
      refusal: NOT_REFUSED,
      log,
    }),
    rateLimit: { take: () => Promise.resolve({ use: () => true, release: () => {} }) },
    log,
    intents,
    worker: 'worker',
    keepFailedMs: 60_000,
    countTwice: (contacts) => {
      stage.twice += contacts;
      return Promise.resolve();
    },
    uncountTwice: (contacts) => {
      stage.twice -= contacts;
      return Promise.resolve();
    },
    sendDeadlineMs: 5_000,
    inOneWrite: () => {},
    stopping: stopping.signal,
  };
  const note = (what: string) => () => {
    left.push(what);
    return Promise.resolve();
  };
  const stage: GroupStage = {
    emulator,
    keys,
    intents,
    stopping,
    lines,
    beforeToken: () => Promise.resolve(),
    passage: {
      probe: undefined,
      answered: (as) => note(as)(),
      undecided: note('undecided'),
      abandoned: note('abandoned'),
    },
    left,
    twice: 0,
    notice: async (number, { expiresAt, settled, failedReason } = {}) => {
      const contact: Contact = { contact: number, var1: `for ${number}` };
      const id = `n-${number}`;
      await redis.client.set(keys.noticeLock(id), LOCK);
      await redis.client.hset(keys.noticeJob(id), 'name', 'send');
      const data = {
        v: 1 as const,
        notice: { templateCode: 'T', scheduleType: 'DIRECTLY', contacts: [contact] },
        ...(expiresAt === undefined ? {} : { expiresAt }),
        ...(delivery === 'at-most-once' ? { delivery } : {}),
        ...(settled === undefined ? {} : { settled }),
      };
      const job = { id, attemptsMade: 0, opts: { attempts: 5 }, failedReason } as Job;
      const ends: NoticeEnd[] = [];
      const kept: JobData[] = [];
      const notice: TestNotice = {
        id,
        ...pendingNotice(data, 0, 100),
        data,
        intent: noticeIntent(job, data, LOCK, 2),
        isLost: false,
        kept,
        keep: (data) => {
          kept.push(data);
          return Promise.resolve(!notice.isLost);
        },
        owned: () => !notice.isLost,
        isLate: () => expiresAt !== undefined && Date.now() >= expiresAt,
        ends,
        end: (end) => ends.push(end),
        fail: (error) => {
          throw error;
        },
      };
      return notice;
    },
    send: (notices) => sendGroup({ notices, isPart: false }, parts),
    sendPart: (part) => sendGroup(part, parts),
    close: async () => {
      await service.close();
      await emulator.close();
    },
  };
  return stage;
}
