import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SessionCookie } from '../http/route.ts';

/** The prefix lets no other host or path of the domain set it; browsers want https for that. */
const SECURE_NAME = '__Host-notices';
const PLAIN_NAME = 'notices';

/** Value of the session's cookie. */
export function readSessionCookie(request: FastifyRequest): string | undefined {
  return request.cookies[isSecure(request) ? SECURE_NAME : PLAIN_NAME];
}

/** Sets or takes away the session's cookie. No script reads it, and no other site makes it be sent. */
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

/** Whether the browser came over https, as a trusted proxy says. */
export function isSecure(request: FastifyRequest): boolean {
  return request.protocol === 'https';
}
