/**
 * What every answer tells browsers. Nothing is loaded from elsewhere, nothing runs that is not a file
 * of ours, and no other site may frame a page or read an answer. The referrer stays inside: without
 * one (`no-referrer`) browsers would send `Origin: null` with our own forms.
 */
const COMMON = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'x-robots-tag': 'noindex, nofollow',
  'cache-control': 'no-store',
} as const;

const POLICY = {
  'default-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'self'",
  'frame-ancestors': "'none'",
  'object-src': "'none'",
} as const;

/** The board of the queues is not ours: it sets styles on its elements, and has a `<base>`. */
const BOARD_POLICY = {
  ...POLICY,
  'base-uri': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
} as const;

/** @param secure whether the browser came over https */
export function securityHeaders(board: boolean, secure: boolean): Record<string, string> {
  const policy = Object.entries(board ? BOARD_POLICY : POLICY);
  return {
    ...COMMON,
    'content-security-policy': policy.map((parts) => parts.join(' ')).join('; '),
    ...(secure ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
}
