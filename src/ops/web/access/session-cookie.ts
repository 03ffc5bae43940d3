import type { FastifyReply, FastifyRequest } from 'fastify';
import { isSessionOver } from '../../operations/sessions.ts';
import type { OpsContext } from '../ops-context.ts';
import type { Identity } from './identity.ts';

/** @returns the value of the session cookie */
export function readSessionCookie(request: FastifyRequest): string | undefined {
  return request.cookies[nameOf(request)];
}

/** Sets or clears the session cookie, which scripts and requests of other sites do not get. */
export function setSessionCookie(reply: FastifyReply, value: string | undefined, until = 0): void {
  const { request } = reply;
  const options = {
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: request.isSecure,
  } as const;
  if (value === undefined) void reply.clearCookie(nameOf(request), options);
  else void reply.setCookie(nameOf(request), value, { ...options, expires: new Date(until) });
}

/** With the prefix `__Host-`, no other host or path of the domain can set the cookie; it requires https. */
export const SECURE_COOKIE = '__Host-notices';

const nameOf = ({ isSecure }: FastifyRequest) => (isSecure ? SECURE_COOKIE : 'notices');

/** Whether the session of a caller is over as Redis has it. @param usedFrom network of a person who uses it now */
export async function isOverAt(
  { redis, keys }: Pick<OpsContext, 'redis' | 'keys'>,
  { by, name: user, seed: id, since = 0, until }: Identity,
  now: number,
  usedFrom?: string,
): Promise<boolean> {
  return by === 'session' && isSessionOver(redis, keys, { user, id, since, until }, now, usedFrom);
}
