import type { Config } from '../config/config.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { Actor, AuditEntry } from '../ops/audit.ts';
import type { OperationContext } from '../ops/operations/operation.ts';
import type { NoticeQueue } from '../producer/notice-queue.ts';
import { currentUser, type CommandContext } from './command-context.ts';

/** Timeout of the first connection to Redis, and of each command, in milliseconds. */
const TIMEOUT_MS = 3_000;

/** What most commands can do without. */
const UNUSED = ['service', 'worker', 'ops', 'events', 'restore', 'redisWatch'] as const;

/**
 * The configuration of the environment. What reads it is loaded here, because the help of a command and most
 * errors of usage need none.
 *
 * @param uses parts of it without which the command does nothing, beside those of all commands
 * @throws InputError CONFIG_INVALID
 */
export async function readConfig(
  { env }: Pick<CommandContext, 'env'>,
  ...uses: readonly (typeof UNUSED)[number][]
): Promise<Config> {
  const { loadConfig } = await import('../config/config.ts');
  const unused = UNUSED.filter((part) => !uses.includes(part));
  return loadConfig(env, { service: uses.includes('worker'), unused });
}

/**
 * Opens the ledger for one command and closes it afterwards. Needs no credentials of the service. The
 * Redis client is imported here because the commands that do not need it start faster without it.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED, and what `use` throws
 */
export async function withLedger<Result>(
  context: Pick<CommandContext, 'env'>,
  use: (open: OperationContext) => Promise<Result>,
): Promise<Result> {
  const config = await readConfig(context);
  const [{ withRedis }, { operationContext }] = await Promise.all([
    import('../redis/with-redis.ts'),
    import('../ops/operations/context.ts'),
  ]);
  return withRedis(config.redis, TIMEOUT_MS, (redis) => use(operationContext(redis, config)));
}

/**
 * Opens a producer with the configuration. Imported here because loading it takes most of the start
 * time of a command.
 */
export async function openQueue(config: Config): Promise<NoticeQueue> {
  const { NoticeQueue } = await import('../producer/notice-queue.ts');
  const { optionsOf } = await import('../producer/options.ts');
  return new NoticeQueue(optionsOf(config));
}

/**
 * Records in the audit stream what was queued. Where that fails, the command still succeeds, with a warning: run
 * again, it would queue once more.
 */
export async function recordDone(
  context: Pick<CommandContext, 'env' | 'warn'>,
  { why, ...entry }: AuditEntry & Pick<Actor, 'why'>,
): Promise<void> {
  const { appendAudit } = await import('../ops/audit.ts');
  try {
    await withLedger(context, (open) => appendAudit(open, { who: currentUser(), why }, entry));
  } catch (error) {
    if (!(error instanceof NoticeQueueError)) throw error;
    context.warn(`it is not in the audit stream (${error.code})`);
  }
}
