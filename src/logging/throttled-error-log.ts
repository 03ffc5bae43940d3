import type { Logger } from 'pino';
import { NoticeQueueError } from '../contracts/errors.ts';
import { redisErrorFields } from '../redis/failure.ts';

/**
 * Logs errors of the Redis connection at most once a second per code: a client without Redis emits many.
 *
 * @param onError called with the code of each error
 */
export function throttledErrorLog(
  log: Logger,
  onError: (code: string) => void,
): (error: Error) => void {
  let lastAt = -Infinity;
  let lastCode = '';
  return (error) => {
    const fields = redisErrorFields(error);
    const { code } = fields;
    const now = performance.now();
    onError(code);
    if (code === lastCode && now - lastAt < 1_000) return;
    lastAt = now;
    lastCode = code;
    const reason = error instanceof NoticeQueueError ? { reason: error.message } : {};
    log.warn({ event: 'redis-trouble', ...fields, ...reason });
  };
}
