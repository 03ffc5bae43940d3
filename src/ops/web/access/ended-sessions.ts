import type { RedisClient } from '../../../redis/connect.ts';
import type { Keys } from '../../../redis/keys.ts';
import type { Session, Sessions } from './sessions.ts';

/**
 * Sessions that were ended by a sign-out, in Redis, so that they stay ended after a restart and at other ops
 * servers. While Redis is away only this process knows of them.
 */
export class EndedSessions {
  readonly #redis: RedisClient;
  readonly #keys: Pick<Keys, 'endedSession'>;
  readonly #sessions: Sessions;

  constructor(redis: RedisClient, keys: Pick<Keys, 'endedSession'>, sessions: Sessions) {
    this.#redis = redis;
    this.#keys = keys;
    this.#sessions = sessions;
  }

  /** Ends a session. @throws what Redis answers; this process then knows of it */
  async end(session: Pick<Session, 'id' | 'until'>, now: number): Promise<void> {
    this.#sessions.end(session, now);
    const restMs = Math.max(1, session.until - now);
    await this.#redis.set(this.#keys.endedSession(session.id), '1', 'PX', restMs);
  }

  /** Whether a session was ended. */
  async has(id: string): Promise<boolean> {
    if (this.#sessions.isEnded(id)) return true;
    try {
      return (await this.#redis.exists(this.#keys.endedSession(id))) === 1;
    } catch {
      return false;
    }
  }
}
