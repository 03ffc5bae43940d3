import cookie from '@fastify/cookie';
import rateLimit from '@fastify/rate-limit';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { authorize, reads } from './access/authorize.ts';
import type { Identity, Needs } from './access/identity.ts';
import { boardNeeds, isBoard, registerBoard } from './board/board.ts';
import type { OpsContext } from './ops-context.ts';
import { problemPage } from './pages/public-pages.ts';
import { signInPage } from './pages/public-pages.ts';
import { problemOf, TooManyRequests, type Problem } from './http/problem.ts';
import { registerRoutes } from './http/register-routes.ts';
import type { Route } from './http/route.ts';
import { OPS_ROUTES } from './http/route-table.ts';
import { registerSecurityHeaders, setSecurityHeaders } from './http/security-headers.ts';
import { isSecure, readSessionCookie } from './access/session-cookie.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whom the route lets in. */
    needs?: Needs;
    kind?: Route['kind'];
    /** Most requests of one caller in a minute. */
    perMinute?: number;
  }
  interface FastifyRequest {
    /** Who calls; undefined where nobody is known. */
    identity: Identity | undefined;
  }
}

/** Requests of one caller in a minute, where the route says nothing else. */
const PER_MINUTE = 1_200;
const MINUTE_MS = 60_000;

/**
 * Builds the ops server: pages, JSON API, health. It does not listen yet.
 *
 * @param routes the table; tests hand in their own
 */
export async function buildOpsServer(
  context: OpsContext,
  routes: readonly Route[] = OPS_ROUTES,
): Promise<FastifyInstance> {
  const app = fastify({
    trustProxy: (address) => context.access.isTrustedProxy(address),
    bodyLimit: context.config.maxBodyBytes,
    routerOptions: { maxParamLength: 200 },
    // Idle connections of browsers must not keep a server from stopping.
    forceCloseConnections: true,
    exposeHeadRoutes: false,
  });
  await app.register(cookie);
  await registerSecurityHeaders(app);
  await app.register(rateLimit, { global: false });
  app.decorateRequest('identity', undefined);
  readForms(app);
  letIn(app, context);
  app.setErrorHandler((error, request, reply) => refuse(error, request, reply, context));
  app.setNotFoundHandler((request, reply) =>
    refuse(new NoticeQueueError('NOT_FOUND'), request, reply, context),
  );
  // Whatever registers a route must say whom it lets in.
  app.addHook('onRoute', (options) => {
    const { config, method, url } = options;
    if (isBoard(url)) options.config = { ...config, needs: boardNeeds(method), kind: 'page' };
    else if (config?.needs === undefined) {
      throw new TypeError(`the route ${String(method)} ${url} does not say whom it lets in`);
    }
  });
  registerRoutes(app, routes, context);
  await registerBoard(app, context);
  app.addHook('preClose', () => context.feed.close());
  return app;
}

/** HTML forms beside JSON, and nothing else. */
function readForms(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain');
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
}

/** Judges every request before its body is read, also those that no route wants. */
function letIn(app: FastifyInstance, context: OpsContext): void {
  const { access } = context;
  const limits = new Map<number, ReturnType<FastifyInstance['createRateLimit']>>();
  const limitOf = (max: number) => {
    const limit =
      limits.get(max) ?? app.createRateLimit({ max, timeWindow: MINUTE_MS, keyGenerator });
    limits.set(max, limit);
    return limit;
  };
  app.addHook('onRequest', async (request, reply) => {
    setSecurityHeaders(reply, isBoard(request.url), isSecure(request));
    const header = (name: string) => headerOf(request, name);
    const identity = access.identify(
      {
        remoteAddress: request.socket.remoteAddress,
        authorization: header('authorization'),
        cookie: readSessionCookie(request),
        header,
      },
      Date.now(),
    );
    request.identity = identity;
    const { needs, perMinute = PER_MINUTE } = request.routeOptions.config;
    const limited = await limitOf(perMinute)(request);
    if (!limited.isAllowed && limited.isExceeded) {
      return refuse(new TooManyRequests(limited.ttlInSeconds), request, reply, context);
    }
    const refusal = authorize({
      needs,
      method: request.method,
      identity,
      origin: header('origin'),
      fetchSite: header('sec-fetch-site'),
      host: request.host,
    });
    // Answered here: the board would take an error for its own.
    if (refusal !== undefined)
      return refuse(new NoticeQueueError(refusal), request, reply, context);
    return undefined;
  });
}

/** A caller is counted by route: whoever tries passwords does not keep himself from the pages. */
function keyGenerator({ identity, ip, routeOptions }: FastifyRequest): string {
  const { perMinute } = routeOptions.config;
  const place = perMinute === undefined ? '' : (routeOptions.url ?? '');
  return `${place} ${identity === undefined ? ip : identity.name}`;
}

function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === 'string' ? value : undefined;
}

/** Answers what went wrong: a problem to programs, a page to people. */
function refuse(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { redisWatch, logger, access }: OpsContext,
): FastifyReply {
  // A sender is told whether something may have been queued; all others, what is wrong with Redis.
  const { needs } = request.routeOptions.config;
  const problem = problemOf(error, needs === 'sender' ? undefined : redisWatch.explain());
  log(problem, error, request, logger);
  if (problem.retryAfter !== undefined) void reply.header('retry-after', problem.retryAfter);
  if (problem.status === 401) void reply.header('www-authenticate', 'Bearer realm="notices"');
  void reply.code(problem.status);
  if (!wantsPage(request)) {
    return reply.type('application/problem+json; charset=utf-8').send(JSON.stringify(problem));
  }
  const { identity } = request;
  const csrf = identity === undefined ? '' : access.sessions.csrfToken(identity.seed);
  const html =
    problem.status === 401
      ? signInPage({ next: reads(request.method) ? request.url : '/' })
      : problemPage(problem, { who: identity, csrf });
  return reply.type('text/html; charset=utf-8').send(html.text);
}

/** A browser that goes somewhere, or sends a form, says that it takes HTML first. */
function wantsPage(request: FastifyRequest): boolean {
  const { kind } = request.routeOptions.config;
  if (kind === 'health' || kind === 'asset') return false;
  const accept = headerOf(request, 'accept') ?? '';
  return accept.includes('text/html') && (kind === 'page' || !accept.includes('json'));
}

function log(
  problem: Problem,
  error: unknown,
  { method, routeOptions, identity }: FastifyRequest,
  logger: OpsContext['logger'],
): void {
  const facts = {
    event: 'ops-refused',
    method,
    // The pattern of the route: what was asked for may hold a key.
    route: routeOptions.url ?? '',
    status: problem.status,
    code: problem.code,
    ...(identity === undefined ? {} : { who: identity.name }),
    ...(problem.code === 'DEFECT' && error instanceof Error ? whereabouts(error) : {}),
  };
  if (problem.status >= 500) logger.warn(facts);
  else logger.debug(facts);
}

/** Kind and place of an error that nobody foresaw; its message may hold what was sent. */
function whereabouts({ name, stack = '' }: Error) {
  const place = stack.split('\n').find((line) => /^\s+at /.test(line));
  return { error: name, place: place?.trim() };
}
