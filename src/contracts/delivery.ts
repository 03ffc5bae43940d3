/**
 * What happens to an attempt whose outcome is unknown.
 *
 * - `at-least-once`: it is tried again like a failure, and counted as possibly sent twice. Doubles
 *   are at most what was in flight at a fault.
 * - `at-most-once`: it is set aside as unknown and never sent again by itself; a person or a rule
 *   decides. Doubles are zero.
 */
export const DELIVERY_POLICIES = ['at-least-once', 'at-most-once'] as const;

/** Name of a delivery policy. */
export type DeliveryPolicy = (typeof DELIVERY_POLICIES)[number];
