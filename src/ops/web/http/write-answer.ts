import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteAnswer } from './route.ts';
import { setSessionCookie } from '../access/session-cookie.ts';

/** All answers but a stream of events, which takes the connection for itself. */
type WrittenAnswer = Exclude<RouteAnswer, { readonly kind: 'events' }>;

/** Writes an answer. */
export function writeAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: WrittenAnswer,
): FastifyReply {
  switch (answer.kind) {
    case 'json':
      return reply
        .code(answer.status)
        .type('application/json; charset=utf-8')
        .send(JSON.stringify(answer.body));
    case 'page':
      return reply.code(answer.status).type('text/html; charset=utf-8').send(answer.html.text);
    case 'redirect':
      if (answer.cookie !== undefined) setSessionCookie(request, reply, answer.cookie);
      return reply.redirect(answer.to, 303);
    case 'file': {
      if (answer.name !== undefined) {
        void reply.header('content-disposition', `attachment; filename="${answer.name}"`);
      }
      if (answer.cache !== undefined) {
        const forEver = 'public, max-age=31536000, immutable';
        void reply.header('cache-control', answer.cache === 'for-ever' ? forEver : 'no-cache');
      }
      return reply.code(200).type(answer.type).send(answer.body);
    }
  }
}
