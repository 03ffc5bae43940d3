import type { Logger } from 'pino';
import { redisErrorCode } from '../redis/failure.ts';

/**
 * Redis that is away reports itself many times a second; the log hears it once a second, `onWord`
 * each time.
 */
export function throttledErrorLog(
  log: Logger,
  onWord: (word: string) => void,
): (error: Error) => void {
  let lastAt = -Infinity;
  let lastCode = '';
  return (error) => {
    const code = redisErrorCode(error);
    const now = performance.now();
    onWord(code);
    if (code === lastCode && now - lastAt < 1_000) return;
    lastAt = now;
    lastCode = code;
    log.warn({ event: 'redis-trouble', code });
  };
}
