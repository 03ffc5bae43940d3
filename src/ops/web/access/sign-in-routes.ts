import { z } from 'zod';
import { redisErrorFields } from '../../../redis/failure.ts';
import { beginSession, endSessions } from '../../operations/sessions.ts';
import type { User } from './accounts.ts';
import { MAX_PASSWORD_LENGTH } from './password.ts';
import { networkOf } from './network.ts';
import type { OpsContext } from '../ops-context.ts';
import { signInPage } from '../pages/public-pages.ts';
import { localPath } from '../http/register-routes.ts';
import { page, route, type RouteCall, type Route, type SessionCookie } from '../http/route.ts';

/** Attempts of one address, or one IPv6 network, per minute. */
const TRIES_PER_MINUTE = 10;

const SESSION_ENDED: SessionCookie = { value: undefined, until: 0 };

const HERE_ONLY =
  'You are signed out in this browser. Redis did not store it: a copy of the cookie counts until you sign in anew.';

/** Sign-in and sign-out. */
export const SIGN_IN_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/sign-in',
    needs: 'open',
    kind: 'page',
    summary: 'The sign-in page.',
    query: z.object({ next: z.string().optional() }),
    answers: { 200: { says: 'The page.', type: 'text/html' } },
    perMinute: 60,
    handle: ({ query }) => page(signInPage({ next: localPath(query.next ?? '/') })),
  }),
  route({
    method: 'POST',
    path: '/sign-in',
    needs: 'open',
    kind: 'page',
    summary: 'Signs in with name and password.',
    body: z.object({
      name: z.string().max(64),
      password: z.string().max(MAX_PASSWORD_LENGTH),
      next: z.string().optional(),
    }),
    answers: { 303: { says: 'Signed in.' }, 401: { says: 'Name or password is wrong.' } },
    perMinute: TRIES_PER_MINUTE,
    handle: async (call, context) => {
      const { body, address, now } = call;
      const { name, password, next = '/' } = body;
      const user = await context.access.signIn(name, password, networkOf(address), now);
      if (user !== undefined) {
        return {
          kind: 'redirect',
          to: localPath(next),
          cookie: await startSession(user, call, context),
        };
      }
      // Without the name: people type passwords into the wrong field.
      context.logger.warn({ event: 'ops-sign-in-failed', address });
      const problem = 'Name or password is wrong.';
      return page(signInPage({ next: localPath(next), problem }), 401);
    },
  }),
  route({
    method: 'POST',
    path: '/sign-out',
    needs: 'viewer',
    kind: 'page',
    summary: 'Ends the session.',
    answers: { 303: { says: 'Signed out.' }, 503: { says: 'Signed out at this server only.' } },
    handle: async ({ who, now }, { redis, keys, logger }) => {
      const name = who?.name;
      try {
        if (who?.by === 'session') await endSessions(redis, keys, who.name, now);
      } catch (error) {
        logger.warn({ event: 'ops-signed-out-here-only', who: name, ...redisErrorFields(error) });
        return page(signInPage({ next: '/', problem: HERE_ONLY }), 503, SESSION_ENDED);
      }
      logger.info({ event: 'ops-signed-out', who: name });
      return { kind: 'redirect', to: '/sign-in', cookie: SESSION_ENDED };
    },
  }),
];

/** Starts a session. @returns its cookie */
async function startSession(
  user: User,
  { now, secure, address }: Pick<RouteCall, 'now' | 'secure' | 'address'>,
  { access, config, logger, redis, keys }: OpsContext,
): Promise<SessionCookie> {
  const { cookie: value, session } = access.sessions.start(user, now);
  const { id, since, until } = session;
  const network = networkOf(address);
  try {
    await beginSession(redis, keys, user.name, { id, since, seenAt: now, until, network });
  } catch (error) {
    // A person who is called because Redis is away has to see why.
    logger.warn({ event: 'ops-session-not-stored', who: user.name, ...redisErrorFields(error) });
  }
  logger.info({ event: 'ops-signed-in', who: user.name, role: user.role });
  // The proxy does not state that the browser uses https: then the cookie is sent over http, too.
  const isPlain = !secure && config.trustedProxy.length > 0;
  if (isPlain) logger.warn({ event: 'ops-session-without-https', lacks: 'X-Forwarded-Proto' });
  return { value, until };
}
