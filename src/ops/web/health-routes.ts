import { z } from 'zod';
import { redisFailure } from '../../redis/failure.ts';
import { json, route, type Route } from './http/route.ts';

const health = z.strictObject({
  status: z.enum(['ok', 'unready']),
  reasons: z.array(z.string()).describe('why it is not ready, in words'),
});

/** For whatever watches the process; they let everybody in and tell nothing. */
export const HEALTH_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/livez',
    needs: 'open',
    kind: 'health',
    summary: 'Whether the process lives; an outage of Redis changes nothing.',
    answers: { 200: { says: 'It lives.', schema: health } },
    handle: () => json({ status: 'ok', reasons: [] }),
  }),
  route({
    method: 'GET',
    path: '/readyz',
    needs: 'open',
    kind: 'health',
    summary: 'Whether requests can be served.',
    answers: {
      200: { says: 'They can.', schema: health },
      503: { says: 'Redis does not serve.', schema: health },
    },
    handle: async (_call, { redis, redisWatch }) => {
      try {
        await redis.ping();
        return json({ status: 'ok', reasons: [] });
      } catch (error) {
        redisWatch.failed(error, Date.now());
        // Open to all: the cause with the address of Redis is for those who are signed in.
        return json({ status: 'unready', reasons: [redisFailure(error).code] }, 503);
      }
    },
  }),
];
