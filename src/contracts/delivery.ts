/**
 * What happens when the outcome of an attempt is unknown.
 *
 * - `at-least-once`: it is sent again, and counted as possibly sent twice. Only what was being sent at
 *   the time of a fault can arrive twice.
 * - `at-most-once`: it is stored as unknown and not sent again until a person decides. Nothing arrives
 *   twice.
 */
export const DELIVERY_POLICIES = ['at-least-once', 'at-most-once'] as const;

/** Name of a delivery policy. */
export type DeliveryPolicy = (typeof DELIVERY_POLICIES)[number];
