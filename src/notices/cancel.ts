import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { cancelScript } from './cancel-script.ts';
import type { CancelAnswer, CancelOptions, CancelReport, NoticeRef } from './notice-state.ts';
import { readRef, type RefArguments } from './notice-ref.ts';

/** Jobs of one run of the script: each may search the list of waiting jobs, and Redis waits for the script. */
const JOBS_AT_ONCE = 20;

/**
 * Cancels a notice that waits: delayed, held, or before a worker takes it. Safe to repeat. A notice of more
 * than 20 jobs is cancelled in several steps, each of which is atomic.
 *
 * @throws InputError NOTICE_INVALID if the reference is no id or key
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function cancelNotice(
  redis: RedisClient,
  keys: Keys,
  ref: NoticeRef,
  options: CancelOptions = {},
): Promise<CancelReport> {
  const asked = readRef(ref);
  try {
    return await cancelJobs(redis, keys, asked, options);
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Like {@link cancelNotice}.
 *
 * @param nonce of the request, the same where it is repeated after a lost reply. Default: a new one
 * @throws ScriptFailure
 */
export async function cancelJobs(
  redis: RedisClient,
  keys: Keys,
  asked: RefArguments,
  { releaseKey = false }: CancelOptions,
  nonce: string = randomUUID(),
): Promise<CancelReport> {
  const { hold, intents, retention, noticeEvents } = keys;
  const from = [hold, intents.open, intents.unknown, retention, noticeEvents, keys.done(nonce)];
  const answers: (readonly [string, CancelAnswer])[] = [];
  const cancelFrom = ({ mode, text }: RefArguments) => {
    const mayRelease = releaseKey && answers.every(([, answer]) => answer === 'cancelled');
    const args = [keys.noticeJob(''), mode, text, answers.length, JOBS_AT_ONCE];
    return cancelScript(redis, from, [...args, mayRelease ? asked.mode : 'no']);
  };
  const first = await cancelFrom(asked);
  answers.push(...first.jobs);
  let { keyReleased } = first;
  while (answers.length < first.total) {
    // By id: a key that was released finds nothing any more.
    const next = await cancelFrom({ mode: 'id', text: first.id });
    if (next.jobs.length === 0) break;
    answers.push(...next.jobs);
    keyReleased = next.keyReleased;
  }
  return reportOf(first.id, answers, keyReleased);
}

/** What became of a notice, from the answers of its jobs. */
function reportOf(
  id: string,
  answers: readonly (readonly [string, CancelAnswer])[],
  keyReleased: boolean,
): CancelReport {
  const all = answers.map(([, answer]) => answer);
  const answer = cancelAnswerOfAll(all);
  return {
    id,
    cancelled: answer === 'cancelled',
    answer,
    ...(keyReleased ? { keyReleased } : {}),
    ...(answers.length > 1
      ? { jobs: answers.map(([job, one]) => ({ id: job, answer: one })) }
      : {}),
  };
}

/** What may still be sent comes first, then what was or may have been. */
const BY_IMPORTANCE: readonly CancelAnswer[] = [
  'sending',
  'possibly-sent',
  'unknown',
  'accepted',
  'rejected',
  'expired',
  'not-kept',
];

/** The answer for a notice with several jobs: `cancelled` only if all are; `not-kept` for none. */
export function cancelAnswerOfAll(answers: readonly CancelAnswer[]): CancelAnswer {
  if (answers.length === 0) return 'not-kept';
  return BY_IMPORTANCE.find((one) => answers.includes(one)) ?? 'cancelled';
}
