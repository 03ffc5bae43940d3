import { sendAgain } from '../../src/notices/change-failed.ts';
import { lookUpNotice } from '../../src/notices/look-up.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { untilDone } from '../send/take-back.ts';

/** Puts a notice back to waiting that was rejected a moment ago: its template is held. */
export function takeBackNotice(redis: RedisClient, keys: Keys, id: string): Promise<void> {
  return untilDone(async () => {
    const notice = await lookUpNotice({ redis, keys }, id);
    if (notice.state === 'sending' || notice.state === 'pending') return false;
    if (notice.state === 'rejected') await sendAgain(redis, keys, notice, 0);
    return true;
  });
}
