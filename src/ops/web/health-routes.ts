import { z } from 'zod';
import { redisFailure } from '../../redis/failure.ts';
import { route, type Route } from './http/route.ts';

const schema = z.strictObject({
  status: z.enum(['ok', 'unready']),
  reasons: z.array(z.string()).describe('why it is not ready'),
});
const OK: z.output<typeof schema> = { status: 'ok', reasons: [] };

const HEALTH = { method: 'GET', needs: 'open', kind: 'health' } as const;

/** Health checks; they need no role and reveal nothing. */
export const HEALTH_ROUTES: readonly Route[] = [
  route({
    ...HEALTH,
    path: '/livez',
    summary: 'Whether the process is alive, independent of Redis.',
    answers: { 200: { says: 'The process is alive.', schema } },
    handle: () => OK,
  }),
  route({
    ...HEALTH,
    path: '/readyz',
    summary: 'Whether requests can be served.',
    answers: { 200: { says: 'Ready.', schema }, 503: { says: 'Redis is not available.', schema } },
    handle: async ({ reply }, { redis, redisWatch }) => {
      try {
        await redis.ping();
        return OK;
      } catch (error) {
        redisWatch.failed(error);
        void reply.code(503);
        // Without a sign-in only the code: the cause names the address of Redis.
        return { status: 'unready', reasons: [redisFailure(error).code] };
      }
    },
  }),
];
