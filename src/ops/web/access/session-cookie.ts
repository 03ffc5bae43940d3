import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SessionCookie } from '../http/route.ts';

/** With this prefix, no other host or path of the domain can set the cookie; it requires https. */
const SECURE_NAME = '__Host-notices';
const PLAIN_NAME = 'notices';

/** @returns the value of the session cookie */
export function readSessionCookie(request: FastifyRequest): string | undefined {
  return request.cookies[isSecure(request) ? SECURE_NAME : PLAIN_NAME];
}

/** Sets or clears the session cookie, which scripts and requests of other sites do not get. */
export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { value, until }: SessionCookie,
): void {
  const secure = isSecure(request);
  const name = secure ? SECURE_NAME : PLAIN_NAME;
  const options = { path: '/', httpOnly: true, sameSite: 'strict', secure } as const;
  if (value === undefined) void reply.clearCookie(name, options);
  else void reply.setCookie(name, value, { ...options, expires: new Date(until) });
}

/** Whether the browser uses https, as the trusted proxy states. */
export function isSecure(request: FastifyRequest): boolean {
  return request.protocol === 'https';
}
