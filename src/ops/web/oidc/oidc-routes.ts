import { z } from 'zod';
import { NoticeQueueError } from '../../../contracts/errors.ts';
import { localPath } from '../http/register-routes.ts';
import {
  page,
  route,
  type AnswerCookie,
  type Route,
  type RouteAnswer,
  type RouteCall,
} from '../http/route.ts';
import type { OpsContext } from '../ops-context.ts';
import { signedInPage, signInPage } from '../pages/public-pages.ts';
import { networkOf } from '../access/network.ts';
import { startSession, TRIES_PER_MINUTE } from '../access/sign-in-routes.ts';
import { isSame } from '../access/signer.ts';
import { personOf } from './claims.ts';
import { FAILURES, type FailureReason } from './failures.ts';
import { readFlow, startFlow } from './flow.ts';
import { CALLBACK_PATH, START_PATH, type OidcProvider } from './provider.ts';

const FLOW_ENDED: AnswerCookie = { kind: 'flow', value: undefined, until: 0 };

/** Sign-in through a provider of OpenID Connect. */
export const OIDC_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: START_PATH,
    needs: 'open',
    kind: 'page',
    summary: 'Sends the visitor to the provider of OpenID Connect.',
    query: z.object({ next: z.string().optional() }),
    answers: { 303: { says: 'To the provider.' }, 503: { says: 'The provider is away.' } },
    perMinute: TRIES_PER_MINUTE,
    handle: async (call, context) => {
      const { access } = context;
      const next = localPath(call.query.next ?? '/');
      const { flow, cookie, until } = startFlow(access.sessions.signer, next, call.now);
      const found = await providerOf(context).signInUrl(flow, call.now);
      if (typeof found !== 'string') return failed(found, call, context, next);
      return { kind: 'redirect', to: found, cookies: [{ kind: 'flow', value: cookie, until }] };
    },
  }),
  route({
    method: 'GET',
    path: CALLBACK_PATH,
    needs: 'open',
    kind: 'page',
    summary: 'Signs in with the answer of the provider.',
    answers: {
      200: { says: 'Signed in; the page leads on.', type: 'text/html' },
      401: { says: 'The answer is not valid.' },
      403: { says: 'The person has no role.' },
      503: { says: 'The provider is away.' },
    },
    perMinute: TRIES_PER_MINUTE,
    handle: async (call, context) => {
      const provider = providerOf(context);
      const { access } = context;
      const query = new URL(call.url, provider.config.publicUrl).searchParams;
      const flow = readFlow(access.sessions.signer, call.cookie('flow'), call.now);
      if (flow === undefined || !isSame(query.get('state') ?? '', flow.state)) {
        return failed({ reason: 'not-started' }, call, context);
      }
      const answer = await provider.claims(query, flow, call.now);
      if ('reason' in answer) return failed(answer, call, context, flow.next);
      const person = personOf(answer.claims, provider.config);
      const account = String(answer.claims['sub']);
      access.countProviderSignIn(account, networkOf(call.address), call.now, 'user' in person);
      if ('refusal' in person) {
        const { refusal: reason, name: who } = person;
        return failed({ reason, who }, call, context, flow.next);
      }
      const session = startSession(person.user, call, context);
      return page(signedInPage(flow.next), 200, [session, FLOW_ENDED]);
    },
  }),
];

/** @throws NoticeQueueError NOT_FOUND where none is configured */
function providerOf({ access }: OpsContext): OidcProvider {
  if (access.provider === undefined) throw new NoticeQueueError('NOT_FOUND');
  return access.provider;
}

/** Why it failed, for the log. */
interface FailedSignIn {
  readonly reason: FailureReason;
  readonly code?: string;
  readonly who?: string | undefined;
}

function failed(
  { reason, ...more }: FailedSignIn,
  { address }: Pick<RouteCall, 'address'>,
  { access, logger }: OpsContext,
  next = '/',
): RouteAnswer {
  logger.warn({ event: 'ops-sign-in-failed', address, by: 'oidc', reason, ...more });
  const { status, says } = FAILURES[reason];
  return page(signInPage({ next, problem: says }, access), status, [FLOW_ENDED]);
}
