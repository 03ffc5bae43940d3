import type { OutgoingHttpHeaders } from 'node:http';

/** Only files of this server are loaded and run; no other site may frame a page. */
const POLICY =
  "default-src 'self'; form-action 'self'; frame-ancestors 'none'; object-src 'none'; base-uri 'none'";

/** The board of the queues is third-party: it sets styles on its elements and has a `<base>`. */
const BOARD_POLICY = POLICY.replace(
  "base-uri 'none'",
  "base-uri 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:",
);

/** Security headers of every answer. */
export const SECURITY_HEADERS: OutgoingHttpHeaders = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  // Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'x-robots-tag': 'noindex, nofollow',
  'cache-control': 'no-store',
};

export const BOARD_HEADERS = { ...SECURITY_HEADERS, 'content-security-policy': BOARD_POLICY };

/** Where the browser uses https: it is not to use http from then on. */
export const HTTPS_ONLY = { 'strict-transport-security': 'max-age=31536000' };
