/**
 * Decisions on an unknown outcome. A resolved notice keeps its idempotency key for the rest of the
 * window, so that a repeated call does not send it again.
 *
 * | decision | a notice | contacts of a batch |
 * |---|---|---|
 * | accepted | its job is removed | counted as accepted |
 * | resend | its job runs again, with all its attempts, counted as possibly sent twice | a new chunk, counted so, too |
 * | discard | its job is removed | counted as cancelled |
 */
export const RESOLUTIONS = ['accepted', 'resend', 'discard'] as const;

/** Name of a decision. */
export type UnknownResolution = (typeof RESOLUTIONS)[number];
