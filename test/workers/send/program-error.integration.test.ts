import { afterEach, describe, expect, it, vi } from 'vitest';
import { readNoticeEvents } from '../../support/events.ts';
import { unknownNotices } from '../../support/unknown-notices.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { SendGate } from '../../../workers/send/send-gate.ts';
import { room } from '../../service-coverage/support/line.ts';
import { until } from '../../support/wait.ts';

const CONTACTS = [{ contact: '01000000001' }, { contact: '01000000002' }];
describe('an error in this program after the request of the last attempt', () => {
  const lines = room();
  const { redis } = lines;

  afterEach(() => vi.restoreAllMocks());

  it.each(['at-most-once', 'at-least-once'] as const)(
    'leaves a notice that is listed as unknown, %s',
    async (delivery) => {
      const leave = vi.spyOn(SendGate.prototype, 'leave');
      leave.mockRejectedValue(new TypeError('a mistake'));
      const env = { ATTEMPTS: '1', NOTICE_EVENTS: '100' };
      const { emulator, prefix, queue } = await lines.direct(env);
      const { id } = await queue.send({ templateCode: 'T', contacts: CONTACTS }, { delivery });
      const keys = keysOf(prefix, 'default');
      const failed = () => redis.client.zscore(keys.endedIn('unknown'), id);
      await until(failed, { what: 'its end' });
      expect(leave).toHaveBeenCalledOnce();
      expect(await unknownNotices({ redis: redis.client, keys }, { ids: [id] })).toMatchObject([
        { code: 'INTERNAL_ERROR', contacts: 2, possiblySent: 1 },
      ]);
      expect(await queue.get(id)).toMatchObject({ state: 'unknown', possiblySent: 1, delivery });
      const { events } = await readNoticeEvents(redis.client, keys, '0', 10);
      expect(events).toMatchObject([{ notice: id, state: 'unknown', code: 'INTERNAL_ERROR' }]);
      expect(await redis.client.hlen(keys.history)).toBe(0);
      expect(emulator.record()).toMatchObject({ requests: 1 });
    },
  );
});
