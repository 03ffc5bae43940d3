import type { Logger } from 'pino';
import { missingPermissionOf, redisErrorCode } from '../redis/failure.ts';

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
    const code = redisErrorCode(error);
    const now = performance.now();
    onError(code);
    if (code === lastCode && now - lastAt < 1_000) return;
    lastAt = now;
    lastCode = code;
    const missing = missingPermissionOf(error);
    log.warn({ event: 'redis-trouble', code, ...(missing === undefined ? {} : { missing }) });
  };
}
