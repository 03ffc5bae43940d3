import type { Config } from '../config/config.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { Actor, AuditEntry } from '../ops/audit.ts';
import { currentUser, type CommandContext } from './command-context.ts';

/** Timeout of the connection to Redis, and of each command, in milliseconds. */
const TIMEOUT_MS = 3_000;

/**
 * Records in the audit stream what was queued. Where that fails, the command still succeeds, with a warning: run
 * again, it would queue once more.
 */
export async function recordDone(
  { warn }: Pick<CommandContext, 'warn'>,
  { redis: settings, account }: Pick<Config, 'redis' | 'account'>,
  { why, ...entry }: AuditEntry & Pick<Actor, 'why'>,
): Promise<void> {
  // Imported here because it loads the client of Redis.
  const { keysOf } = await import('../redis/keys.ts');
  const { withRedis } = await import('../redis/with-redis.ts');
  const { appendAudit } = await import('../ops/audit.ts');
  const keys = keysOf(settings.prefix, account);
  try {
    await withRedis(settings, TIMEOUT_MS, (redis) =>
      appendAudit({ redis, keys }, { who: currentUser(), why }, entry),
    );
  } catch (error) {
    if (!(error instanceof NoticeQueueError)) throw error;
    warn(`it is not in the audit stream (${error.code})`);
  }
}
