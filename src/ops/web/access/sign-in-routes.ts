import { z } from 'zod';
import { redisErrorFields } from '../../../redis/failure.ts';
import type { SessionUser } from './sessions.ts';
import { MAX_PASSWORD_LENGTH } from './password.ts';
import { networkOf } from './network.ts';
import type { OpsContext } from '../ops-context.ts';
import { signInPage } from '../pages/public-pages.ts';
import { localPath } from '../http/register-routes.ts';
import {
  page,
  route,
  type AnswerCookie,
  type RouteAnswer,
  type RouteCall,
  type Route,
} from '../http/route.ts';

/** Attempts of one address, or one IPv6 network, per minute. */
export const TRIES_PER_MINUTE = 10;

const SESSION_ENDED: AnswerCookie = { kind: 'session', value: undefined, until: 0 };

const HERE_ONLY =
  'You are signed out in this browser and at this server. Redis did not store it: until it does, a copy of the cookie may still count at other ops servers, and here after a restart.';

/** Sign-in and sign-out. */
export const SIGN_IN_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/sign-in',
    needs: 'open',
    kind: 'page',
    summary: 'The sign-in page; with the key of the link that `notices ops` printed, signs in.',
    query: z.object({ key: z.string().max(100).optional(), next: z.string().optional() }),
    answers: { 200: { says: 'The page.', type: 'text/html' }, 303: { says: 'Signed in.' } },
    perMinute: 60,
    handle: (call, context) => {
      const { key, next = '/' } = call.query;
      if (key === undefined) return page(signInPage({ next: localPath(next) }, context.access));
      const user = context.access.redeem(key);
      if (user !== undefined) return signedIn(user, '/', call, context);
      const { address } = call;
      context.logger.warn({ event: 'ops-sign-in-failed', address, by: 'link' });
      const problem =
        'This link was used before, or belongs to another start of the server. Sign in with the password that was printed with it.';
      return page(signInPage({ next: '/', problem }, context.access), 401);
    },
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
      if (user !== undefined) return signedIn(user, localPath(next), call, context);
      // Without the name: people type passwords into the wrong field.
      context.logger.warn({ event: 'ops-sign-in-failed', address });
      return page(
        signInPage(
          { next: localPath(next), problem: 'Name or password is wrong.' },
          context.access,
        ),
        401,
      );
    },
  }),
  route({
    method: 'POST',
    path: '/sign-out',
    needs: 'viewer',
    kind: 'page',
    summary: 'Ends the session.',
    answers: { 303: { says: 'Signed out.' }, 503: { says: 'Signed out at this server only.' } },
    handle: async ({ who, now }, { access, endedSessions, logger }) => {
      const name = who?.name;
      try {
        if (who?.by === 'session') {
          await endedSessions.end({ id: who.seed, until: who.until }, now);
        }
      } catch (error) {
        logger.warn({ event: 'ops-signed-out-here-only', who: name, ...redisErrorFields(error) });
        return page(signInPage({ next: '/', problem: HERE_ONLY }, access), 503, [SESSION_ENDED]);
      }
      logger.info({ event: 'ops-signed-out', who: name });
      return { kind: 'redirect', to: '/sign-in', cookies: [SESSION_ENDED] };
    },
  }),
];

/** The request that signs a person in. */
type SignInCall = Pick<RouteCall, 'now' | 'secure'>;

function signedIn(
  user: SessionUser,
  to: string,
  call: SignInCall,
  context: OpsContext,
): RouteAnswer {
  return { kind: 'redirect', to, cookies: [startSession(user, call, context)] };
}

/** Starts a session. @returns its cookie */
export function startSession(
  user: SessionUser,
  { now, secure }: SignInCall,
  { access, config, logger }: OpsContext,
): AnswerCookie {
  const { cookie: value, until } = access.sessions.start(user, now);
  logger.info({ event: 'ops-signed-in', who: user.name, role: user.role });
  // The proxy does not state that the browser uses https: then the cookie is sent over http, too.
  const isPlain = !secure && config.trustedProxy.length > 0;
  if (isPlain) logger.warn({ event: 'ops-session-without-https', lacks: 'X-Forwarded-Proto' });
  return { kind: 'session', value, until };
}
