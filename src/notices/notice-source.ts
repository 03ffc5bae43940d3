import type { Sealing } from '../payload/seal.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';

/** Where stored notices are read. */
export interface NoticeSource {
  readonly redis: RedisClient;
  readonly keys: Keys;
  /** Decrypts; without it encrypted contacts cannot be read. */
  readonly sealing?: Sealing | undefined;
}
