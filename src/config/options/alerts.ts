import type { OptionRows } from '../option.ts';

/** Where workers report to what people must know of. */
export const ALERT_OPTIONS = {
  ALERT_WEBHOOK_URL: {
    kind: 'secret',
    meaning:
      'Address to which one worker of the fleet posts alerts: holds, batches that finished or stalled, unknown outcomes, memory, retention, missing workers. docs/alerts.md describes them. Secret, because such addresses often hold a key.',
    pattern:
      /^https?:\/\/(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?(?:[/?][^\s\\#]{0,1500})?$/,
    expected: 'https:// (or http:// on this machine) with a host, without user name or fragment',
  },
  ALERT_WEBHOOK_SECRET: {
    kind: 'secret',
    meaning: 'Signs every alert (HMAC-SHA256), so that the receiver can tell ours from others.',
    pattern: /^\P{Cc}{16,1024}$/u,
    expected: '16 to 1024 characters on one line',
  },
  ALERT_QUIET_MS: {
    kind: 'integer',
    meaning:
      'How long the same alert keeps quiet after it was posted: what comes and goes meanwhile is counted, and posted once at the end.',
    unit: 'milliseconds',
    min: 0,
    max: 86_400_000,
    default: 300_000,
    note: 'Lowered: a hold that flaps posts an alert each time.',
  },
} as const satisfies OptionRows;
