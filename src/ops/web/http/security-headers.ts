import helmet, { type FastifyHelmetOptions } from '@fastify/helmet';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** Only files of this server are loaded and run; no other site may frame a page. */
const POLICY = {
  'default-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'self'"],
  'frame-ancestors': ["'none'"],
  'object-src': ["'none'"],
};

/** The board of the queues is third-party: it sets styles on its elements and has a `<base>`. */
const BOARD_POLICY = {
  ...POLICY,
  'base-uri': ["'self'"],
  'style-src': ["'self'", "'unsafe-inline'"],
  'img-src': ["'self'", 'data:'],
};

const OPTIONS: FastifyHelmetOptions = {
  // Applied by setSecurityHeaders, which knows whether the browser uses https.
  global: false,
  frameguard: { action: 'deny' },
  // Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
  referrerPolicy: { policy: 'same-origin' },
};

/** Headers that helmet does not set. */
const OTHERS = {
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'x-robots-tag': 'noindex, nofollow',
  'cache-control': 'no-store',
} as const;

/** Headers of an answer that is made without hooks, and so without helmet. */
export const BARE_HEADERS = {
  ...OTHERS,
  'content-security-policy': "default-src 'none'",
  'x-content-type-options': 'nosniff',
} as const;

/** Registers helmet; must come before the hook that calls {@link setSecurityHeaders}. */
export async function registerSecurityHeaders(app: FastifyInstance): Promise<void> {
  await app.register(helmet, OPTIONS);
}

/**
 * Sets the security headers of one answer.
 *
 * @param board whether the answer is a page of the queue board
 * @param secure whether the browser uses https
 */
export function setSecurityHeaders(reply: FastifyReply, board: boolean, secure: boolean): void {
  void reply.headers(OTHERS);
  reply.helmet({
    contentSecurityPolicy: { useDefaults: false, directives: board ? BOARD_POLICY : POLICY },
    strictTransportSecurity: secure && { maxAge: 31_536_000, includeSubDomains: false },
  });
}
