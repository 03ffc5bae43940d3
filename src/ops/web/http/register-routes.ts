import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { parseInput } from '../../../contracts/parse-input.ts';
import { NoticeQueueError } from '../../../contracts/errors.ts';
import { fromForm, fromQuery } from '../../operations/fields.ts';
import { reads } from '../access/authorize.ts';
import type { Identity } from '../access/identity.ts';
import type { OpsContext } from '../ops-context.ts';
import type { RouteCall, Route, RouteAnswer, ServerLabel } from './route.ts';
import { setSessionCookie } from '../access/session-cookie.ts';

/** Form fields for the CSRF token, and for the path to redirect to. */
const CSRF_FIELD = '_csrf';
const NEXT_FIELD = '_next';
const CSRF_HEADER = 'x-csrf-token';

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

/** Registers the routes of a table. */
export function registerRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  context: OpsContext,
): void {
  for (const route of routes) {
    const { method, path, needs, kind, perMinute } = route;
    const limit = typeof perMinute === 'function' ? perMinute(context) : perMinute;
    app.route({
      // Load balancers ask for the health with HEAD.
      method: kind === 'health' ? [method, 'HEAD'] : method,
      url: path,
      bodyLimit: route.bodyDoc === undefined ? SMALL_BODY_BYTES : context.config.maxBodyBytes,
      config: { needs, kind, ...(limit === undefined ? {} : { perMinute: limit }) },
      handler: (request, reply) => serve(route, request, reply, context),
    });
  }
}

async function serve(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  context: OpsContext,
): Promise<FastifyReply> {
  const who = request.identity;
  const form = request.body instanceof URLSearchParams ? request.body : undefined;
  // The form to sign in has no token: it is for visitors, also in a second tab of one who is in already.
  const needsToken = !reads(request.method) && route.needs !== 'open';
  if (needsToken && who !== undefined) requireCsrfToken(request, who, form, context);
  const call = readCall(route, request, form, context);
  const isChange = !reads(request.method) && route.reads !== true;
  const answer = await withoutSilenceLimit(request, () => route.handle(call, context));
  if (isChange) {
    context.logger.info({ event: 'ops-change', route: route.path, who: call.name });
  }
  const next = form?.get(NEXT_FIELD);
  if (answer.kind === 'json' && next !== undefined && next !== null) {
    const { said = 'Done.' } = answer;
    return writeAnswer(request, reply, { kind: 'redirect', to: localPath(next), said });
  }
  return writeAnswer(request, reply, answer);
}

/** Lets a handler take as long as it needs: it has a limit of its own where it needs one. */
async function withoutSilenceLimit<Result>(
  { raw }: FastifyRequest,
  handle: () => Result | Promise<Result>,
): Promise<Result> {
  raw.setTimeout(0);
  try {
    return await handle();
  } finally {
    raw.setTimeout(SILENCE_MS);
  }
}

/** @throws NoticeQueueError CROSS_SITE where the CSRF token is missing or of another session */
function requireCsrfToken(
  { headers }: FastifyRequest,
  who: Identity,
  form: URLSearchParams | undefined,
  { access }: OpsContext,
): void {
  if (who.by === 'key') return;
  const sent = form?.get(CSRF_FIELD) ?? headers[CSRF_HEADER];
  if (typeof sent === 'string' && access.sessions.isCsrfToken(who.seed, sent)) return;
  throw new NoticeQueueError('CROSS_SITE');
}

function readCall(
  { params, query, body }: Route,
  request: FastifyRequest,
  form: URLSearchParams | undefined,
  context: OpsContext,
): RouteCall {
  const { access } = context;
  const { identity: who, headers, url } = request;
  const checked = (schema: z.ZodType | undefined, value: unknown, root: string): unknown =>
    schema === undefined ? undefined : parseInput(schema, value, 'REQUEST_INVALID', '', root);
  const given =
    form !== undefined && body !== undefined ? fromForm(form, body) : (request.body ?? {});
  return {
    params: checked(params, request.params, 'path'),
    query: checked(query, query && fromQuery(request.query, query), 'query'),
    body: checked(body, given, 'body'),
    who,
    name: who?.name ?? '',
    csrf: who === undefined || who.by === 'key' ? '' : access.sessions.csrfToken(who.seed),
    url,
    header: (name) => {
      const value = headers[name.toLowerCase()];
      return typeof value === 'string' ? value : undefined;
    },
    address: request.ip,
    secure: request.isSecure,
    now: Date.now(),
    place: labelOf(context),
    said: request.cookies[SAID_COOKIE],
  };
}

/** What the server shows, for the top of its pages. */
export function labelOf({ account, config }: Pick<OpsContext, 'account' | 'config'>): ServerLabel {
  return { account, name: config.name };
}

/** @returns the path and query of a URL of this server; `/` for all others, such as another site */
export function localPath(text: string): string {
  const base = 'http://here.invalid';
  if (!/^\/(?![/\\])/.test(text) || !URL.canParse(text, base)) return '/';
  const url = new URL(text, base);
  // Without its dots, a path can start with two slashes and so name another site.
  return url.origin === base && !url.pathname.startsWith('//')
    ? `${url.pathname}${url.search}`
    : '/';
}

/** Writes an answer. */
function writeAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: RouteAnswer,
): FastifyReply {
  switch (answer.kind) {
    case 'json':
      return reply
        .code(answer.status)
        .type('application/json; charset=utf-8')
        .send(JSON.stringify(answer.body));
    case 'page':
      if (answer.cookie !== undefined) setSessionCookie(request, reply, answer.cookie);
      if (request.cookies[SAID_COOKIE] !== undefined)
        void reply.clearCookie(SAID_COOKIE, { path: '/' });
      return reply.code(answer.status).type('text/html; charset=utf-8').send(answer.html.text);
    case 'redirect':
      if (answer.cookie !== undefined) setSessionCookie(request, reply, answer.cookie);
      if (answer.said !== undefined) {
        void reply.setCookie(SAID_COOKIE, answer.said.slice(0, MAX_SAID), {
          path: '/',
          httpOnly: true,
          sameSite: 'strict',
          secure: request.isSecure,
          maxAge: SAID_S,
        });
      }
      return reply.redirect(answer.to, 303);
    case 'file': {
      if (answer.name !== undefined) {
        void reply.header('content-disposition', `attachment; filename="${answer.name}"`);
      }
      if (answer.cache !== undefined) {
        const forEver = 'public, max-age=31536000, immutable';
        void reply.header('cache-control', answer.cache === 'for-ever' ? forEver : 'no-cache');
      }
      // What a download reads may match late: the connection is then silent for longer than others may be.
      if (!Buffer.isBuffer(answer.body)) request.raw.setTimeout(0);
      return reply.code(200).type(answer.type).send(answer.body);
    }
  }
}
