import { z } from 'zod';
import { redisErrorFields } from '../../../redis/failure.ts';
import { beginSession, endSessions } from '../../operations/sessions.ts';
import { MAX_PASSWORD_LENGTH, type User } from './accounts.ts';
import { networkOf } from './network.ts';
import type { OpsContext } from '../ops-context.ts';
import { signInPage } from '../pages/public-pages.ts';
import { localPath, redirect, route, type RouteCall, type Route } from '../http/route.ts';
import { setSessionCookie } from './sessions.ts';

/** Attempts of one address, or one IPv6 network, per minute. */
const TRIES_PER_MINUTE = 10;

const HERE_ONLY =
  'You are signed out in this browser. Redis did not store it: a copy of the cookie counts until you sign in anew.';

const PAGE = { path: '/sign-in', needs: 'open', kind: 'page' } as const;

export const SIGN_IN_ROUTES: readonly Route[] = [
  route({
    ...PAGE,
    method: 'GET',
    summary: 'The sign-in page.',
    input: z.object({ next: z.string().default('/') }),
    perMinute: 60,
    handle: ({ input }, { place }) => signInPage(place, localPath(input.next)),
  }),
  route({
    ...PAGE,
    method: 'POST',
    summary: 'Signs in with name and password.',
    input: z.object({
      name: z.string().max(64),
      password: z.string().max(MAX_PASSWORD_LENGTH),
      next: z.string().default('/'),
    }),
    perMinute: TRIES_PER_MINUTE,
    handle: async (call, context) => {
      const { name, password, next } = call.input;
      const { ip: address } = call.request;
      const user = await context.access.signIn(name, password, networkOf(address), call.now);
      if (user !== undefined) {
        await startSession(user, call, context);
        return redirect(call.reply, next);
      }
      // Without the name: people type passwords into the wrong field.
      context.logger.warn({ event: 'ops-sign-in-failed', address });
      void call.reply.code(401);
      return signInPage(context.place, localPath(next), 'Name or password is wrong.');
    },
  }),
  route({
    method: 'POST',
    path: '/sign-out',
    needs: 'viewer',
    kind: 'page',
    summary: 'Ends the session.',
    handle: async ({ who, now, reply }, { redis, keys, logger, place }) => {
      const name = who?.name;
      setSessionCookie(reply);
      try {
        if (who?.by === 'session') await endSessions(redis, keys, who.name, now);
      } catch (error) {
        logger.warn({ event: 'ops-signed-out-here-only', who: name, ...redisErrorFields(error) });
        void reply.code(503);
        return signInPage(place, '/', HERE_ONLY);
      }
      logger.info({ event: 'ops-signed-out', who: name });
      return redirect(reply, '/sign-in');
    },
  }),
];

async function startSession(
  user: User,
  { now, request: { isSecure, ip }, reply }: RouteCall,
  { access, config, logger, redis, keys }: OpsContext,
): Promise<void> {
  const { cookie, session } = access.sessions.start(user, now);
  try {
    await beginSession(redis, keys, session, networkOf(ip));
  } catch (error) {
    // A person who is called because Redis is away has to see why.
    logger.warn({ event: 'ops-session-not-stored', who: user.name, ...redisErrorFields(error) });
  }
  logger.info({ event: 'ops-signed-in', who: user.name, role: user.role });
  // The proxy does not state that the browser uses https: then the cookie is sent over http, too.
  const isPlain = !isSecure && config.trustedProxy.length > 0;
  if (isPlain) logger.warn({ event: 'ops-session-without-https', lacks: 'X-Forwarded-Proto' });
  setSessionCookie(reply, cookie, session.until);
}
