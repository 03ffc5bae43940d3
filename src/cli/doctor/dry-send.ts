import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { startWorker } from '../../../workers/process/start-worker.ts';
import { loadConfig, type Config } from '../../config/config.ts';
import { startEmulator } from '../../emulator/emulator.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { cancelled, fail, ok, type Finding } from '../../doctor/finding.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { openQueue } from '../open-queue.ts';
import { removeAccount } from '../../redis/remove-account.ts';

/** Unassigned numbers: one for a single notice, two for a batch. */
const [SINGLE, ...LIST] = ['01000000001', '01000000002', '01000000003'];

const DEADLINE_MS = 20_000;
const POLL_MS = 20;

/**
 * Sends a notice and a small batch through everything except the service: a producer, this Redis, a
 * worker in this process, and the emulator. It uses an account of its own, which is deleted afterwards,
 * and none of the configured keys.
 *
 * @param signal cancels it
 */
export async function drySend(
  redis: RedisClient,
  config: Config,
  signal: AbortSignal,
): Promise<Finding> {
  const account = `doctor-${randomBytes(6).toString('hex')}`;
  const emulator = await startEmulator({ accessKey: 'doctor', secretKey: 'doctor' });
  // Default settings: the check does not depend on those of the fleet.
  const own = loadConfig({
    BASE_URL: emulator.url,
    ACCESS_KEY: 'doctor',
    SECRET_KEY: 'doctor',
    ACCOUNT: account,
    LOG_LEVEL: 'silent',
  });
  const { service } = own;
  const closers: (() => Promise<void>)[] = [
    () => removeAccount(redis, config.redis.prefix, account),
    () => emulator.close(),
  ];
  const startedAt = performance.now();
  try {
    if (service === undefined) throw new NoticeQueueError('CONFIG_INVALID');
    const worker = await startWorker({
      config: { ...own, redis: config.redis, queue: config.queue, service },
      logger: pino({ level: 'silent' }),
      abandoned: signal,
    });
    if (worker === undefined) return cancelled('dry-send');
    closers.push(() => worker.stop());
    const queue = await openQueue({ ...config, account });
    closers.push(() => queue.close());
    await queue.send({ templateCode: 'DOCTOR', contacts: [{ contact: SINGLE ?? '' }] });
    const list = LIST.map((contact) => ({ contact }));
    await queue.import(list, { templateCode: 'DOCTOR', signal });
    const deadline = performance.now() + DEADLINE_MS;
    while (emulator.record().contacts < 1 + LIST.length && performance.now() < deadline) {
      if (signal.aborted) return cancelled('dry-send');
      await pause(POLL_MS);
    }
    return judgeRecord(emulator.record().contacts, performance.now() - startedAt);
  } catch (error) {
    if (signal.aborted) return cancelled('dry-send');
    const problem =
      error instanceof NoticeQueueError
        ? `${error.code}: ${error.message}`
        : 'an unexpected failure';
    return fail('dry-send', problem, 'fix the problems found by the checks above');
  } finally {
    for (const close of closers.reverse()) await close().catch(() => {});
  }
}

function judgeRecord(arrived: number, tookMs: number): Finding {
  const all = 1 + LIST.length;
  return arrived === all
    ? ok(
        'dry-send',
        `sent a notice and a small batch from a producer through this Redis and a worker to the emulator in ${(tookMs / 1_000).toFixed(1)} s`,
      )
    : fail(
        'dry-send',
        `${arrived} of ${all} contacts reached the emulator within ${DEADLINE_MS / 1_000} s`,
        'see the checks of Redis above; on an idle machine this takes one or two seconds',
      );
}
