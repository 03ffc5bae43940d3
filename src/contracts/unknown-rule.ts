/**
 * A rule of UNKNOWN_RULES: it decides the unknown outcomes that match all of its conditions. Rules are asked in
 * their order; the first that matches decides.
 */
export interface UnknownRule {
  /** The rule as it was written. */
  readonly text: string;
  /** `resend` is once: an outcome that was sent again before, by a rule or by a person, does not match. */
  readonly as: 'accepted' | 'discard' | 'resend';
  /** Unknown for longer than this, in milliseconds. */
  readonly olderThanMs?: number;
  readonly code?: string;
  readonly template?: string;
}
