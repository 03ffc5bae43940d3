import { pino } from 'pino';
import { loadConfig } from '../../../../src/config/config.ts';
import type { DeliveryPolicy } from '../../../../src/contracts/outcome.ts';
import type { JobData } from '../../../../src/contracts/job.ts';
import type { Contact } from '../../../../src/contracts/notice.ts';
import { startEmulator, type Emulator } from '../../../../src/emulator/emulator.ts';
import type { EmulatorOptions } from '../../../../src/emulator/options.ts';
import { HoldGate } from '../../../../src/fleet/hold/hold-gate.ts';
import { JobHistories } from '../../../../src/fleet/job-history.ts';
import { Intents } from '../../../../src/fleet/intents/intents.ts';
import { NO_SEALING } from '../../../../src/payload/seal.ts';
import { Hints } from '../../../../src/redis/hints.ts';
import { keysOf, type Keys } from '../../../../src/redis/keys.ts';
import { ServiceClient } from '../../../../src/service/client.ts';
import { SendJob } from '../../../../workers/queue/send-job.ts';
import { AttemptLog } from '../../../../workers/send/attempt-log.ts';
import { NoticeEnds } from '../../../../workers/send/notice-end.ts';
import { runNotice, type NoticeContext } from '../../../../workers/send/notice-job.ts';
import { SendGate } from '../../../../workers/send/send-gate.ts';
import type { TestRedis } from '../../../support/redis.ts';

const LOCK = 'lock';

/** A notice, and what its run told. */
export interface TestNotice {
  readonly id: string;
  readonly job: SendJob;
  /** Set by a test: the lock of the job may be lost. */
  isLost: boolean;
  /** Its lines in the log, of all runs. */
  readonly lines: Record<string, unknown>[];
}

/** What notices are run with: a real emulator, client, gate and Redis; token source by hand. */
export interface RunStage {
  readonly emulator: Emulator;
  readonly keys: Keys;
  readonly intents: Intents;
  readonly stopping: AbortController;
  /** Called before a token is handed out, right before a request. */
  beforeToken: () => Promise<void>;
  /** It hears of no hold by itself. */
  readonly holds: HoldGate;
  /** What came to the gate at the ends of attempts: kinds of outcomes, or 'nothing'. */
  readonly left: string[];
  /** Contacts that are counted as possibly sent twice. */
  twice: number;
  /** @param more with trace ids of its attempts that ended unknown */
  notice(
    contact: string,
    more?: Pick<JobData, 'expiresAt' | 'earlier'> & {
      readonly unknown?: readonly string[];
    },
  ): Promise<TestNotice>;
  /** Runs its job once; resolves also where the job fails or is requeued. */
  run(notice: TestNotice): Promise<void>;
  close(): Promise<void>;
}

/** @param delivery of all its notices */
export async function openRunStage(
  redis: TestRedis,
  delivery: DeliveryPolicy = 'at-least-once',
  options: EmulatorOptions = {},
): Promise<RunStage> {
  const emulator = await startEmulator(options);
  const { service: settings } = loadConfig({
    BASE_URL: emulator.url,
    ACCESS_KEY: 'emulator-access-key',
    SECRET_KEY: 'emulator-secret-key',
    ANSWER_TIMEOUT_MS: '500',
  });
  if (settings === undefined) throw new Error('the configuration has no service');
  const service = new ServiceClient(settings);
  const keys = keysOf(redis.freshPrefix(), 'default');
  const intents = new Intents(redis.client, keys);
  const stopping = new AbortController();
  const notices = new Map<unknown, TestNotice>();
  const logger = pino(
    { level: 'debug', base: null },
    {
      write: (text: string) => {
        const line = JSON.parse(text) as Record<string, unknown>;
        notices.get(line['job'])?.lines.push(line);
      },
    },
  );
  const log = new AttemptLog(logger);
  const left: string[] = [];
  const token = async () => {
    await stage.beforeToken();
    const { value } = await service.issueToken();
    return { id: value.slice(0, 16), value };
  };
  const holds = new HoldGate({
    redis: redis.client,
    hints: new Hints(redis.connect({ name: 'hints', forWorker: true })),
    keys,
    id: 'worker',
    settings: { holdProbeMinMs: 1, holdProbeMaxMs: 1_000, retryAfterMaxMs: 1_000 },
    now: Date.now,
    othersAccepted: () => Promise.resolve(false),
    onMove: () => {},
    onAside: () => {},
    onTemplateHeld: () => {},
  });
  // Its first question to Redis, which takes a moment.
  await holds.enter('T', false);
  const histories = new JobHistories(redis.client, keys);
  const gate = new SendGate({
    isSuspended: () => false,
    isComplete: () => true,
    holds,
    histories,
    rateLimiter: { throttled: () => Promise.resolve() },
    log,
    now: Date.now,
  });
  const ends = new NoticeEnds(redis.client, keys, 0);
  const context: NoticeContext = {
    service,
    tokens: {
      get: token,
      renew: token,
      renewalHelped: () => Promise.resolve(),
    },
    gate: {
      enter: (job) => gate.enter(job),
      leave: (job, entered, attempted) => {
        left.push(attempted.outcome?.kind ?? 'nothing');
        return gate.leave(job, entered, attempted);
      },
      isInHours: (template) => gate.isInHours(template),
      restOf: (template) => gate.restOf(template),
    },
    rateLimit: { take: () => Promise.resolve({ use: () => true, release: () => {} }) },
    log,
    intents,
    histories,
    worker: 'worker',
    ends,
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
    locks: {
      of: ({ id }) => ({ valid: () => notices.get(id)?.isLost === false, release: () => {} }),
    },
    returns: { returnJob: () => Promise.reject(new Error('returned')) },
    sealing: NO_SEALING,
    unknownResends: 2,
    now: Date.now,
  };
  const stage: RunStage = {
    emulator,
    keys,
    intents,
    stopping,
    beforeToken: () => Promise.resolve(),
    holds,
    left,
    twice: 0,
    notice: async (number, { expiresAt, earlier, unknown = [] } = {}) => {
      const contact: Contact = { contact: number, var1: `for ${number}` };
      const id = `n-${number}`;
      await redis.client.hset(keys.noticeJob(id), { name: 'send', ats: unknown.length + 1 });
      for (const [index, traceId] of unknown.entries()) {
        await redis.client.set(keys.noticeLock(id), `lock ${index}`);
        await histories.noteUnknown(id, { run: `lock ${index}`, code: 'HTTP_500', traceId });
      }
      await redis.client.set(keys.noticeLock(id), LOCK);
      const data: JobData = {
        v: 1,
        notice: { templateCode: 'T', scheduleType: 'DIRECTLY', contacts: [contact] },
        ...(expiresAt === undefined ? {} : { expiresAt }),
        ...(delivery === 'at-most-once' ? { delivery } : {}),
        ...(earlier === undefined ? {} : { earlier }),
      };
      const job = Object.assign(Object.create(SendJob.prototype) as SendJob, {
        id,
        data,
        attemptsMade: 0,
        stalledCounter: 0,
        timestamp: Date.now(),
        opts: { attempts: 5 },
        attemptsStarted: unknown.length + 1,
        moveToDelayed: () => Promise.resolve(),
      });
      const notice = { id, job, isLost: false, lines: [] };
      notices.set(id, notice);
      return notice;
    },
    run: async ({ job }) => {
      await runNotice({ job, lockToken: LOCK }, context).catch(() => {});
    },
    close: async () => {
      await service.close();
      await emulator.close();
    },
  };
  return stage;
}
