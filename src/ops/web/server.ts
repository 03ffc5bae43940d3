import type { ServerResponse } from 'node:http';
import cookie from '@fastify/cookie';
import rateLimit from '@fastify/rate-limit';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { hostRule, isLoopbackHost } from '../../format/plain-hosts.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { isSessionOver } from '../operations/sessions.ts';
import { headerOf } from './access/access.ts';
import { authorize, reads } from './access/authorize.ts';
import type { Identity, Needs } from './access/identity.ts';
import { networkOf } from './access/network.ts';
import { boardNeeds, isBoard, registerBoard } from './board/board.ts';
import type { OpsContext } from './ops-context.ts';
import { problemPage, signInPage } from './pages/public-pages.ts';
import { problemOf, TooManyRequests, type Problem } from './http/problem.ts';
import { registerRoutes, SILENCE_MS } from './http/register-routes.ts';
import { localPath, type Route } from './http/route.ts';
import { OPS_ROUTES } from './http/route-table.ts';
import { BOARD_HEADERS, HTTPS_ONLY, SECURITY_HEADERS } from './http/security-headers.ts';
import { SECURE_COOKIE } from './access/sessions.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The role that the route needs. */
    needs?: Needs;
    kind?: Route['kind'];
    /** Highest number of requests per caller and minute. */
    perMinute?: number | undefined;
  }
  interface FastifyRequest {
    /** The caller; undefined where unknown. */
    identity: Identity | undefined;
    /** Whether the browser uses https, as the trusted proxy or the browser states. */
    isSecure: boolean;
    /** What the trusted proxy has removed from the path, such as `/notices`; or empty. */
    prefix: string;
    /** Ends the request where it takes too long to arrive. */
    arrival: NodeJS.Timeout | undefined;
  }
}

/** Connections at a time; further ones are closed at once. */
const MOST_CONNECTIONS = 512;
/** Milliseconds in which a request must have arrived: its headers, and all of it, unless its body is a list. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 20_000;
/** How often these are checked. */
const TIMEOUT_CHECK_MS = 1_000;

/** Requests per caller and minute, unless the route has its own limit. */
const PER_MINUTE = 1_200;
const MINUTE_MS = 60_000;
/** Callers, and with a limit of their own their routes, that are counted; the one that was idle for longest is forgotten. */
const MOST_COUNTED = 50_000;

/**
 * Builds the ops server: pages, JSON API, health. It does not listen yet.
 *
 * @param routes the route table; tests pass their own
 */
export async function buildOpsServer(
  context: OpsContext,
  routes: readonly Route[] = OPS_ROUTES,
): Promise<FastifyInstance> {
  const app = fastify({
    trustProxy: (address) => context.access.isTrustedProxy(address),
    bodyLimit: context.config.maxBodyBytes,
    routerOptions: { maxParamLength: 2_000 },
    // Idle connections of browsers must not keep a server from stopping.
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    frameworkErrors: (error, _request, { raw }) => refuseUnreadable(error, raw),
    connectionTimeout: SILENCE_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
  });
  app.server.maxConnections = MOST_CONNECTIONS;
  await app.register(cookie);
  await app.register(rateLimit, {
    global: false,
    max: ({ routeOptions }) => routeOptions.config.perMinute ?? PER_MINUTE,
    timeWindow: MINUTE_MS,
    keyGenerator,
    cache: MOST_COUNTED,
  });
  app.decorateRequest('identity', undefined);
  app.decorateRequest('isSecure', false);
  app.decorateRequest('prefix', '');
  app.decorateRequest('arrival', undefined);
  // Bodies of HTML forms and JSON only.
  app.removeContentTypeParser('text/plain');
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
  limitArrival(app);
  authorizeRequests(app, context);
  addPrefix(app);
  app.setErrorHandler((error, request, reply) => refuse(error, request, reply, context));
  app.setNotFoundHandler((request, reply) =>
    refuse(new NoticeQueueError('NOT_FOUND'), request, reply, context),
  );
  // A route without a role is not registered, whatever plugin adds it.
  app.addHook('onRoute', (options) => {
    const { config, method, url } = options;
    if (isBoard(url)) options.config = { ...config, needs: boardNeeds(method), kind: 'page' };
    else if (config?.needs === undefined) {
      throw new TypeError(`the route ${String(method)} ${url} does not define which role it needs`);
    }
  });
  registerRoutes(app, routes, context);
  await registerBoard(app, context);
  return app;
}

const WRONG_HOST =
  'The request names a host that is not one of this server: use its address, or add the name to OPS_HOST_NAMES.';

/** Answers a URL that the router cannot read: no hook runs then, and its own answer would repeat the URL. */
function refuseUnreadable(error: Error, response: ServerResponse): void {
  const problem = problemOf(error);
  response
    .writeHead(problem.status, {
      ...SECURITY_HEADERS,
      'content-type': 'application/problem+json; charset=utf-8',
    })
    .end(JSON.stringify(problem));
}

/** The path below which a proxy shows the server. */
const PREFIX = /^(\/[\w.~-]+)+$/;

/** Adds what the proxy has removed to the paths of a page, where quotes are only those of attributes, and of a redirect. */
function addPrefix(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { prefix } = request;
    const location = reply.getHeader('location');
    if (typeof location === 'string') reply.header('location', prefix + location);
    const isPage = String(reply.getHeader('content-type')).startsWith('text/html');
    done(
      null,
      isPage && typeof payload === 'string' && prefix !== ''
        ? payload.replaceAll(/ (href|src|action)="\//g, ` $1="${prefix}/`)
        : payload,
    );
  });
}

/**
 * Ends requests that take too long to arrive: Node's own limit would be one for lists, too. Those have none once they
 * are authorised and valid (register-routes.ts).
 */
function limitArrival(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request;
    const end = () => {
      if (!raw.complete) raw.socket.destroy();
    };
    request.arrival = setTimeout(end, REQUEST_TIMEOUT_MS);
    raw.once('close', () => clearTimeout(request.arrival));
    return done();
  });
}

/** What the board polls: a page that is only open asks for it, as for its refreshes. */
const BY_OPEN_PAGE = /^\/queues\/api\//;

/** Authorizes every request before its body is read, also those without a matching route. */
function authorizeRequests(app: FastifyInstance, context: OpsContext): void {
  const { access, config } = context;
  const isOwnHost = hostRule(
    config.hostNames,
    isLoopbackHost(config.host),
    config.trustedProxy.length > 0,
  );
  const limit = app.createRateLimit();
  app.addHook('onRequest', async (request, reply) => {
    // Each proxy of a chain adds to the list; the browser reached the first.
    const isProxied = access.isProxied(request);
    const proto = isProxied ? headerOf(request, 'x-forwarded-proto') : undefined;
    const prefix = isProxied ? (headerOf(request, 'x-forwarded-prefix') ?? '') : '';
    request.prefix = PREFIX.test(prefix) ? prefix : '';
    // Without such a proxy the browser itself states it where it signs in, and by its cookie from then on.
    request.isSecure =
      /^\s*https\s*(,|$)/i.test(proto ?? '') ||
      headerOf(request, 'origin') === `https://${request.host}` ||
      request.cookies[SECURE_COOKIE] !== undefined;
    void reply.headers(isBoard(request.url) ? BOARD_HEADERS : SECURITY_HEADERS);
    if (request.isSecure) void reply.headers(HTTPS_ONLY);
    if (!isOwnHost(request.host)) {
      return refuse(new NoticeQueueError('CROSS_SITE', WRONG_HOST), request, reply, context);
    }
    const now = Date.now();
    const identity = access.identify(request, now);
    const { needs, kind } = request.routeOptions.config;
    const isByPerson =
      needs !== 'open' &&
      !BY_OPEN_PAGE.test(request.url) &&
      headerOf(request, 'x-refresh') === undefined;
    const usedFrom = isByPerson ? networkOf(request.ip) : undefined;
    const session = identity?.session;
    const isOver =
      session !== undefined &&
      (await isSessionOver(context.redis, context.keys, session, now, usedFrom));
    if (!isOver) request.identity = identity;
    const limited = await limit(request);
    if (!limited.isAllowed && limited.isExceeded) {
      return refuse(new TooManyRequests(limited.ttlInSeconds), request, reply, context);
    }
    const refusal = authorize({
      needs,
      method: request.method,
      identity: request.identity,
      isData: kind === 'api' || request.url.startsWith('/queues/api/'),
      origin: headerOf(request, 'origin'),
      fetchSite: headerOf(request, 'sec-fetch-site'),
      host: request.host,
    });
    // Answered here: the board would handle a thrown error itself.
    if (refusal !== undefined)
      return refuse(new NoticeQueueError(refusal), request, reply, context);
    return undefined;
  });
}

/** Routes with their own limit are counted separately, and so is each limit of a path: pages do not block sign-ins. */
function keyGenerator({ identity, ip, routeOptions }: FastifyRequest): string {
  const { perMinute } = routeOptions.config;
  const counted = perMinute === undefined ? '' : `${perMinute} ${routeOptions.url ?? ''}`;
  return `${counted} ${identity === undefined ? networkOf(ip) : identity.name}`;
}

/** Answers an error: as a problem to programs, as a page to browsers. */
function refuse(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  context: OpsContext,
): FastifyReply {
  const { redisWatch, logger, access } = context;
  // A sender needs to know whether the notice may be queued; all others, what is wrong with Redis.
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
  const isPage = request.routeOptions.config.kind === 'page' && reads(request.method);
  const referer = (headerOf(request, 'referer') ?? '')
    .replace(/^https?:\/\/[^/]*/, '')
    .replace(request.prefix, '');
  // A form or a download must not be repeated.
  const back = isPage && problem.status === 503 ? undefined : localPath(referer);
  const html =
    problem.status === 401
      ? signInPage(context.place, reads(request.method) ? request.url : '/')
      : problemPage(problem, { who: identity, csrf, place: context.place }, back);
  return reply.type('text/html; charset=utf-8').send(html.text);
}

/** Whether a browser requests a page or sends a form: it then accepts HTML. */
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
  const fields = {
    event: 'ops-refused',
    method,
    // The pattern of the route: the requested URL may hold a key.
    route: routeOptions.url ?? '',
    status: problem.status,
    code: problem.code,
    ...(identity === undefined ? {} : { who: identity.name }),
    ...(problem.code === 'DEFECT' && error instanceof Error ? locationOf(error) : {}),
  };
  if (problem.status >= 500) logger.warn(fields);
  else logger.debug(fields);
}

/** Kind and location of an unexpected error; its message may hold data of the request. */
function locationOf({ name, stack = '' }: Error) {
  const place = stack.split('\n').find((line) => /^\s+at /.test(line));
  return { error: name, place: place?.trim() };
}
