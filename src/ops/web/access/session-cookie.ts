import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AnswerCookie, CookieKind } from '../http/route.ts';

/**
 * Cookies of the ops server. With the prefix `__Host-`, no other host or path of the domain can set a cookie; it
 * requires https. The provider of OpenID Connect sends the visitor back from another site, which a strict
 * cookie does not survive.
 */
const COOKIES = {
  session: { secure: '__Host-notices', plain: 'notices', sameSite: 'strict' },
  flow: { secure: '__Host-notices-flow', plain: 'notices-flow', sameSite: 'lax' },
} as const satisfies Readonly<Record<CookieKind, object>>;

/** @returns the value of a cookie */
export function readCookie(request: FastifyRequest, kind: CookieKind): string | undefined {
  return request.cookies[COOKIES[kind][isSecure(request) ? 'secure' : 'plain']];
}

/** Sets or clears a cookie, which scripts and requests of other sites do not get. */
export function setCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { kind, value, until }: AnswerCookie,
): void {
  const secure = isSecure(request);
  const { sameSite, ...names } = COOKIES[kind];
  const name = secure ? names.secure : names.plain;
  const options = { path: '/', httpOnly: true, sameSite, secure } as const;
  if (value === undefined) void reply.clearCookie(name, options);
  else void reply.setCookie(name, value, { ...options, expires: new Date(until) });
}

/** Whether the browser uses https, as the trusted proxy states. */
export function isSecure(request: FastifyRequest): boolean {
  return request.protocol === 'https';
}
