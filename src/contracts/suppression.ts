/** Why a number is on the do-not-send list. Stored by their place here: new ones go to the end. */
export const SUPPRESS_REASONS = [
  'opt-out',
  'complaint',
  'wrong-number',
  'unreachable',
  'operator',
  'other',
] as const;

export type SuppressReason = (typeof SUPPRESS_REASONS)[number];
