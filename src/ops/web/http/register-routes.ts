import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { parseInput } from '../../../contracts/parse-input.ts';
import { NoticeQueueError } from '../../../contracts/errors.ts';
import { reads } from '../access/authorize.ts';
import type { Identity } from '../access/role.ts';
import { fromForm } from './form-fields.ts';
import { streamEvents } from '../live/event-stream.ts';
import type { OpsContext } from '../ops-context.ts';
import type { RouteCall, Route } from './route.ts';
import { writeAnswer } from './write-answer.ts';

/** Field of a form that holds the token, and the path to go to when it is done. */
const CSRF_FIELD = '_csrf';
const NEXT_FIELD = '_next';
const CSRF_HEADER = 'x-csrf-token';

/** No body but a notice's is long. */
const SMALL_BODY_BYTES = 65_536;

/** Registers the routes of a table. A route says whom it lets in, or it cannot be written down. */
export function registerRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  parts: OpsContext,
): void {
  for (const route of routes) {
    const { method, path, needs, kind, perMinute } = route;
    const limit = typeof perMinute === 'function' ? perMinute(parts) : perMinute;
    app.route({
      method,
      url: path,
      bodyLimit: route.bodyDoc === undefined ? SMALL_BODY_BYTES : parts.config.maxBodyBytes,
      config: { needs, kind, ...(limit === undefined ? {} : { perMinute: limit }) },
      handler: (request, reply) => serve(route, request, reply, parts),
    });
  }
}

async function serve(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  parts: OpsContext,
): Promise<FastifyReply> {
  const who = request.identity;
  const form = request.body instanceof URLSearchParams ? request.body : undefined;
  if (!reads(request.method) && who !== undefined) requireToken(request, who, form, parts);
  const call = readCall(route, request, form, parts);
  const answer = await route.handle(call, parts);
  if (!reads(request.method) && route.reads !== true) {
    parts.logger.info({ event: 'ops-change', route: route.path, who: call.name });
  }
  if (answer.kind === 'events') {
    const { sessions } = parts.access;
    const stillIn = () => who?.by !== 'session' || !sessions.isEnded(who.seed);
    streamEvents(reply, parts.feed, answer.question, who?.until ?? 0, stillIn);
    return reply;
  }
  const next = form?.get(NEXT_FIELD);
  if (answer.kind === 'json' && next !== undefined && next !== null) {
    return writeAnswer(request, reply, { kind: 'redirect', to: localPath(next) });
  }
  return writeAnswer(request, reply, answer);
}

/** @throws NoticeQueueError CROSS_SITE where the page that sent it is not one of this session */
function requireToken(
  { headers }: FastifyRequest,
  who: Identity,
  form: URLSearchParams | undefined,
  { access }: OpsContext,
): void {
  if (who.by === 'key') return;
  const shown = form?.get(CSRF_FIELD) ?? headers[CSRF_HEADER];
  if (typeof shown === 'string' && access.sessions.isCsrfToken(who.seed, shown)) return;
  throw new NoticeQueueError('CROSS_SITE');
}

function readCall(
  { params, query, body }: Route,
  request: FastifyRequest,
  form: URLSearchParams | undefined,
  { access }: OpsContext,
): RouteCall {
  const { identity: who, headers, url } = request;
  const checked = (schema: z.ZodType | undefined, value: unknown, root: string): unknown =>
    schema === undefined ? undefined : parseInput(schema, value, 'REQUEST_INVALID', '', root);
  const given =
    form !== undefined && body !== undefined ? fromForm(form, body) : (request.body ?? {});
  return {
    params: checked(params, request.params, 'path'),
    query: checked(query, request.query, 'query'),
    body: checked(body, given, 'body'),
    who,
    name: who?.name ?? '',
    csrf: who === undefined || who.by === 'key' ? '' : access.sessions.csrfToken(who.seed),
    url,
    header: (name) => {
      const value = headers[name.toLowerCase()];
      return typeof value === 'string' ? value : undefined;
    },
    now: Date.now(),
  };
}

/** A path of this server, and never another site. */
export function localPath(text: string): string {
  const base = 'http://here.invalid';
  if (!/^\/(?![/\\])/.test(text) || !URL.canParse(text, base)) return '/';
  const url = new URL(text, base);
  return url.origin === base ? `${url.pathname}${url.search}` : '/';
}
