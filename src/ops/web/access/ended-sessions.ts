import type { RedisClient } from '../../../redis/connect.ts';
import type { Keys } from '../../../redis/keys.ts';
import type { Session, Sessions } from './sessions.ts';

/**
 * Sessions that were ended by a sign-out, in Redis, so that they stay ended after a restart and at other ops
 * servers. While Redis is away only this process knows of them, and writes them when Redis is back.
 */
export class EndedSessions {
  readonly #redis: RedisClient;
  readonly #keys: Pick<Keys, 'endedSession'>;
  readonly #sessions: Sessions;
  /** Ends that Redis does not have yet, each with the time until which the session would count. */
  readonly #unwritten = new Map<string, number>();

  constructor(redis: RedisClient, keys: Pick<Keys, 'endedSession'>, sessions: Sessions) {
    this.#redis = redis;
    this.#keys = keys;
    this.#sessions = sessions;
  }

  /** Ends a session. @throws what Redis answers; this process then knows of it */
  async end(session: Pick<Session, 'id' | 'until'>, now: number): Promise<void> {
    this.#sessions.end(session, now);
    this.#unwritten.set(session.id, session.until);
    await this.#write(now);
  }

  /** Whether a session was ended. */
  async has(id: string, now: number): Promise<boolean> {
    if (this.#sessions.isEnded(id)) return true;
    try {
      const isEnded = (await this.#redis.exists(this.#keys.endedSession(id))) === 1;
      if (!isEnded) await this.#write(now);
      return isEnded;
    } catch {
      return false;
    }
  }

  /** @throws what Redis answers; the rest is written later */
  async #write(now: number): Promise<void> {
    for (const [id, until] of this.#unwritten) {
      const restMs = Math.max(1, until - now);
      await this.#redis.set(this.#keys.endedSession(id), '1', 'PX', restMs);
      this.#unwritten.delete(id);
    }
  }
}
