/** Version of this package: a constant, so that every module system and bundler finds it. A test compares it. */
export const VERSION = '0.1.0';

/**
 * The variables in which the workers of an account should agree: what they send, and what becomes of it. No secret and
 * no sender key is among them, for their digests are stored.
 */
export const COMPARED_VARIABLES = [
  'ANSWER_RULES_FILE',
  'ANSWER_TIMEOUT_MS',
  'API_VERSION',
  'ATTEMPTS',
  'BASE_URL',
  'CHAT_SENDER_KEY_FIELD',
  'DELIVERY',
  'KEEP_ACCEPTED_MS',
  'KEEP_FAILED_MS',
  'NOTICE_EVENTS',
  'RATE_LIMIT',
  'RESTORE_GUARD',
  'SEND_PATH',
  'SEND_WINDOWS',
  'TOKEN_PATH',
  'UNKNOWN_ACCEPTED_AFTER_MS',
  'UNKNOWN_RESENDS',
] as const;

export type ComparedVariable = (typeof COMPARED_VARIABLES)[number];
