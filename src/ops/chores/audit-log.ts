import type { Logger } from 'pino';
import type { RedisClient } from '../../redis/connect.ts';
import { translated } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { keptAudit, withoutNumbers } from '../audit.ts';

/** Entries per read. */
const PAGE = 500;

/** How far back the first process of an account begins, in milliseconds. */
const FIRST_MS = 24 * 3_600_000;

/**
 * Writes the new entries of the audit streams to the log, each at least once, also those that the command line
 * made. So they are kept where Redis is lost, or the streams are trimmed.
 */
export async function logAudit(
  redis: RedisClient,
  keys: Pick<Keys, 'audit' | 'auditReads' | 'auditLogged'>,
  log: Logger,
  signal?: AbortSignal,
): Promise<void> {
  for (const stream of [keys.audit, keys.auditReads]) {
    let from =
      (await translated(redis.hget(keys.auditLogged, stream))) ??
      String(Math.max(0, Date.now() - FIRST_MS));
    for (;;) {
      if (signal?.aborted === true) return;
      const entries = await translated(redis.xrange(stream, `(${from}`, '+', 'COUNT', PAGE));
      const last = entries.at(-1);
      if (last === undefined) break;
      for (const [id, fields] of entries) {
        const { at, why, ...entry } = keptAudit(id, fields);
        const reason = withoutNumbers(why);
        const time = new Date(at).toISOString();
        log.info({ event: 'audit', at: time, ...entry, why: reason });
      }
      [from] = last;
      await translated(redis.hset(keys.auditLogged, stream, from));
    }
  }
}
