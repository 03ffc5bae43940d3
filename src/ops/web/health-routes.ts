import { z } from 'zod';
import { redisFailure } from '../../redis/failure.ts';
import { json, route, type Route } from './http/route.ts';

const health = z.strictObject({
  status: z.enum(['ok', 'unready']),
  reasons: z.array(z.string()).describe('why it is not ready'),
});

/** Health checks; they need no role and reveal nothing. */
export const HEALTH_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/livez',
    needs: 'open',
    kind: 'health',
    summary: 'Whether the process is alive, independent of Redis.',
    answers: { 200: { says: 'The process is alive.', schema: health } },
    handle: () => json({ status: 'ok', reasons: [] }),
  }),
  route({
    method: 'GET',
    path: '/readyz',
    needs: 'open',
    kind: 'health',
    summary: 'Whether requests can be served.',
    answers: {
      200: { says: 'Ready.', schema: health },
      503: { says: 'Redis is not available.', schema: health },
    },
    handle: async (_call, { redis, redisWatch }) => {
      try {
        await redis.ping();
        return json({ status: 'ok', reasons: [] });
      } catch (error) {
        redisWatch.failed(error, Date.now());
        // Without a sign-in only the code: the cause names the address of Redis.
        return json({ status: 'unready', reasons: [redisFailure(error).code] }, 503);
      }
    },
  }),
];
