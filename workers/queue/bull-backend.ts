import { SET_ASIDE_FIELD } from '../../src/contracts/job.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { defineScript } from '../../src/redis/script.ts';

/*
 * Any producer may have written the hash of a job. BullMQ parses its fields after Redis has already made the job active:
 * an error there leaves it active for ever, and ends the job before it wrongly. So fields that cannot be read, or that
 * no job of a notice has, are taken out of the reply, and the run sets them aside in Redis and fails the job for good.
 */

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return text === '';
  }
};
const isNumber = (text: string) => text === '' || Number.isFinite(Number(text));
/** Redis counts these up. */
const isCount = (text: string) => /^\d{1,9}$/.test(text);
const never = () => false;

const IS_READABLE: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['opts', areOptions],
  ['progress', (text) => text === '0' || isJson(text)],
  ...['ats', 'atm', 'stc'].map((name) => [name, isCount] as const),
  ...['attemptsMade', 'delay', 'priority', 'timestamp', 'processedOn', 'finishedOn'].map(
    (name) => [name, isNumber] as const,
  ),
  // BullMQ takes the id, the failure and the keys of other jobs and queues from them.
  ...['id', 'defa', 'rjk', 'parent', 'parentKey'].map((name) => [name, never] as const),
  // Set aside by an earlier run.
  [SET_ASIDE_FIELD, never],
]);

/** More attempts than any setting allows would repeat a job without end. */
const MAX_ATTEMPTS = 1_000;

function areOptions(text: string): boolean {
  if (text === '') return true;
  try {
    const options: unknown = JSON.parse(text);
    if (typeof options !== 'object' || options === null || Array.isArray(options)) return false;
    const {
      attempts = 0,
      parent,
      repeat,
      removeOnComplete,
      removeOnFail,
    } = options as Record<string, unknown>;
    return (
      Number.isInteger(attempts) &&
      Number(attempts) <= MAX_ATTEMPTS &&
      parent === undefined &&
      repeat === undefined &&
      isKept(removeOnComplete) &&
      isKept(removeOnFail)
    );
  } catch {
    return false;
  }
}

function isKept(value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean' || typeof value === 'number') return true;
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((limit) => typeof limit === 'number')
  );
}

/**
 * The scripts that reply with the next job, and the check that counts stalls; and where those that promote, delay or end a
 * job take the time, keys included.
 */
const FETCHES: ReadonlyMap<string, number> = new Map([
  ['moveToActive', 12],
  ['moveToDelayed', 12],
  ['moveToFinished', 15],
  ['moveStalledJobsToWait', -1],
]);

/** Where their reply says when the next delayed job is due. */
const NEXT_DUE_AT = 3;

/** No JSON: such data makes {@link SendWorker} create the job as unreadable. */
const NOT_JSON = '{';

/** BullMQ's commands and the wait for a job, as far as they are changed here. */
interface Backend {
  execCommand: (client: never, command: string, args: never[]) => unknown;
  waitForJob: (timeout: number) => Promise<{ member: string; score: number } | null>;
}

/**
 * Lets a worker get each job with a field that cannot be read as one whose data cannot be read, and reckon due times by
 * the clock of Redis: BullMQ passes the wall clock of its process and has no option for another one.
 * @param now the clock of Redis, in milliseconds since the epoch
 * @param onBadCount called when a script of BullMQ has failed because a field that it counts up is no number
 */
export function adaptBackend(
  backend: Backend,
  now: () => number,
  onBadCount: () => Promise<void>,
): void {
  /** BullMQ compares a time of Redis with the wall clock. */
  const toWallClock = (due: number) => (due > 0 ? due + Math.round(Date.now() - now()) : due);
  const run = backend.execCommand.bind(backend);
  backend.execCommand = (client, command, args) => {
    const at = FETCHES.get(command);
    if (at === undefined) return run(client, command, args);
    const timed: unknown[] = args;
    if (at >= 0) timed[at] = Math.round(now());
    const reply = run(client, command, args);
    if (!(reply instanceof Promise)) return reply;
    return reply.then(
      (said: unknown) => {
        if (!Array.isArray(said)) return said;
        if (at >= 0) said[NEXT_DUE_AT] = toWallClock(Number(said[NEXT_DUE_AT] ?? 0));
        makeReadable(said[0]);
        return said as unknown;
      },
      async (error: unknown) => {
        if (error instanceof Error && error.message.includes('not an integer')) await onBadCount();
        throw error;
      },
    );
  };
  const wait = backend.waitForJob.bind(backend);
  backend.waitForJob = async (timeout) => {
    const marker = await wait(timeout);
    return marker === null ? null : { ...marker, score: toWallClock(marker.score) };
  };
}

/** @param fields of the next job and their values in turn, if there is one */
function makeReadable(fields: unknown): void {
  if (!Array.isArray(fields)) return;
  let isReadable = true;
  for (let at = 0; at < fields.length; at += 2) {
    if (IS_READABLE.get(String(fields[at]))?.(String(fields[at + 1])) === false) {
      isReadable = false;
      fields[at] = 'notices:ignored';
    }
  }
  // The last one of a name counts.
  if (!isReadable) fields.push('data', NOT_JSON);
}

/** ARGV: names of fields, each with its text and with what takes its place, or nothing. */
const setAside = defineScript({
  name: 'set fields of a job aside',
  lua: `
alsoWhenFull()
for at = 1, #ARGV, 3 do
  local name, text = ARGV[at], ARGV[at + 1]
  if redis.call('HGET', KEYS[1], name) == text then
    local kept = redis.call('HGET', KEYS[1], '${SET_ASIDE_FIELD}') or ''
    redis.call('HSET', KEYS[1], '${SET_ASIDE_FIELD}', kept .. name .. ' ' .. text .. '\\n')
    if ARGV[at + 2] == '' then redis.call('HDEL', KEYS[1], name)
    else redis.call('HSET', KEYS[1], name, ARGV[at + 2]) end
  end
end
return 1`,
});

const IN_PLACE: Readonly<Record<string, string>> = { data: 'null', opts: '{}' };

/**
 * Moves the fields of a job that cannot be read into one that nobody parses, so that every reader of the queue
 * understands the job.
 * @param key of the job's hash
 */
export async function setFieldsAside(redis: RedisClient, key: string): Promise<void> {
  const names = [...IS_READABLE.keys(), 'data'].filter((name) => name !== SET_ASIDE_FIELD);
  const texts = await redis.hmget(key, ...names);
  const unreadable = names.flatMap((name, index) => {
    const text = texts[index] ?? undefined;
    if (text === undefined || (IS_READABLE.get(name) ?? isJson)(text)) return [];
    return [name, text, IN_PLACE[name] ?? ''];
  });
  if (unreadable.length > 0) await setAside(redis, [key], unreadable);
}

/** More jobs than workers have under way; the others are found by the next failure. */
const MOST_ACTIVE = 1_000;

/** Sets the fields aside at which BullMQ's scripts fail. @param prefix of the queue's keys, with its colon */
export async function repairActiveJobs(redis: RedisClient, prefix: string): Promise<void> {
  for (const id of await redis.lrange(`${prefix}active`, 0, MOST_ACTIVE - 1)) {
    const counts = await redis.hmget(`${prefix}${id}`, 'ats', 'atm', 'stc');
    if (counts.some((count) => count !== null && !isCount(count))) {
      await setFieldsAside(redis, `${prefix}${id}`);
    }
  }
}
