import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseInput } from '../../../contracts/parse-input.ts';
import { NoticeQueueError } from '../../../contracts/errors.ts';
import { fromForm, fromQuery } from '../../operations/fields.ts';
import { reads } from '../access/authorize.ts';
import type { Identity } from '../access/identity.ts';
import type { OpsContext } from '../ops-context.ts';
import { Html } from './html.ts';
import type { Route } from './route.ts';

/** What a form has done, for the next page only: characters and seconds at most. */
const SAID_COOKIE = 'notices-said';
const MAX_SAID = 500;
const SAID_S = 30;

/** Largest body of routes other than the intake of notices. */
const SMALL_BODY_BYTES = 65_536;

/**
 * A connection on which nothing moves for so long is closed, also one whose caller does not read the answer. It does
 * not apply while an answer is being made, nor to downloads.
 */
export const SILENCE_MS = 30_000;

const LINGER_MS = 10_000;

export function registerRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  context: OpsContext,
): void {
  const { config } = context;
  const register = (to: FastifyInstance, route: Route) => {
    const { method, path, needs, kind, perMinute } = route;
    const limit = perMinute === 'notices' ? config.noticesPerMinute : perMinute;
    to.route({
      // Load balancers ask for the health with HEAD.
      method: kind === 'health' ? [method, 'HEAD'] : method,
      url: path,
      bodyLimit: route.bodyDoc === undefined ? SMALL_BODY_BYTES : config.maxBodyBytes,
      config: { needs, kind, perMinute: limit },
      handler: (request, reply) => serve(route, request, reply, context),
    });
  };
  for (const route of routes) {
    const { streams } = route;
    if (streams === undefined) register(app, route);
    else {
      void app.register((own, _options, done) => {
        own.removeAllContentTypeParsers();
        own.addContentTypeParser([...streams], (_request, body, parsed) => parsed(null, body));
        register(own, route);
        done();
      });
    }
  }
}

/**
 * Reads what is left of a body whose import has ended, for a while: a caller that is still sending would not see why.
 */
function discardRest(body: IncomingMessage): void {
  if (body.complete || body.destroyed) return;
  body.resume();
  const timer = setTimeout(() => body.destroy(), LINGER_MS);
  body.once('close', () => clearTimeout(timer));
}

async function serve(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  context: OpsContext,
): Promise<FastifyReply> {
  const { access, logger } = context;
  const { identity: who, raw, url, cookies } = request;
  const name = who?.name ?? '';
  const form = request.body instanceof URLSearchParams ? request.body : undefined;
  const isPost = !reads(request.method);
  // The form to sign in has no token: it is for visitors, also in a second tab of one who is in already.
  if (isPost && route.needs !== 'open' && who !== undefined) {
    requireCsrfToken(who, form?.get('_csrf') ?? request.headers['x-csrf-token'], context);
  }
  const call = {
    input: readInput(route, request, form),
    who,
    name,
    csrf: who === undefined || who.by === 'key' ? '' : access.sessions.csrfToken(who.seed),
    url,
    now: Date.now(),
    said: cookies[SAID_COOKIE],
    next: form?.get('_next') ?? undefined,
    request,
    reply,
  };
  // A handler takes as long as it needs: it has a limit of its own where it needs one.
  raw.setTimeout(0);
  if (route.streams !== undefined) clearTimeout(request.arrival);
  let answer: unknown;
  try {
    answer = await route.handle(call, context);
  } finally {
    raw.setTimeout(SILENCE_MS);
    if (route.streams !== undefined) discardRest(raw);
  }
  if (isPost && route.reads !== true)
    logger.info({ event: 'ops-change', route: route.path, who: name });
  if (reply.sent) return reply;
  if (answer instanceof Readable) {
    // What a download reads may match late: the connection is then silent for longer than others may be.
    raw.setTimeout(0);
    return reply.send(answer);
  }
  if (answer instanceof Html) {
    if (call.said !== undefined) void reply.clearCookie(SAID_COOKIE, { path: '/' });
    return reply.type('text/html; charset=utf-8').send(answer.text);
  }
  if (typeof answer === 'string' || Buffer.isBuffer(answer)) return reply.send(answer);
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer));
}

/** Keeps what a form has done for the page that follows it. */
export function sayNext(reply: FastifyReply, text: string): void {
  void reply.setCookie(SAID_COOKIE, text.slice(0, MAX_SAID), {
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: reply.request.isSecure,
    maxAge: SAID_S,
  });
}

/** @throws NoticeQueueError CROSS_SITE where the CSRF token is missing or of another session */
function requireCsrfToken(who: Identity, sent: unknown, { access }: OpsContext): void {
  if (who.by === 'key') return;
  if (typeof sent === 'string' && access.sessions.isCsrfToken(who.seed, sent)) return;
  throw new NoticeQueueError('CROSS_SITE');
}

/** @throws InputError REQUEST_INVALID */
function readInput(
  { input, method, kind, streams }: Route,
  { query, body, params }: FastifyRequest,
  form: URLSearchParams | undefined,
): unknown {
  if (input === undefined) return undefined;
  const isQuery = method === 'GET' || streams !== undefined;
  const texts = kind === 'page' ? withoutBlanks(query) : query;
  const others = form === undefined ? (body ?? {}) : fromForm(form, input);
  const given = isQuery ? fromQuery(texts, input) : others;
  const isFields = typeof given === 'object' && given !== null && !Array.isArray(given);
  const whole = isFields ? { ...given, ...(params as object) } : given;
  return parseInput(input, whole, 'REQUEST_INVALID', '', isQuery ? 'query' : 'body');
}

/** The fields of a query that are filled in: a form without script sends empty ones, too. */
function withoutBlanks(query: unknown): unknown {
  const fields = Object.entries(query as object).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' ? value.trim() : value,
  ]);
  return Object.fromEntries(fields.filter(([, value]) => value !== '')) as unknown;
}
