import type { AlertEvent } from './alert-event.ts';

/** Formats of the body of an alert (ALERT_WEBHOOK_FORMAT). */
export type AlertFormat = 'json' | 'text' | 'content' | 'card';

/** The longest text that chat tools take. */
const MAX_TEXT = 2_000;

/**
 * The body of an alert as a receiver takes it.
 *
 * @param body the alert in JSON
 */
export function formatAlert(body: string, format: AlertFormat): string {
  if (format === 'json') return body;
  const text = sentenceOf(JSON.parse(body) as AlertEvent);
  if (format !== 'card') return JSON.stringify({ [format]: text });
  const card = {
    type: 'AdaptiveCard',
    version: '1.2',
    body: [{ type: 'TextBlock', text, wrap: true }],
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return JSON.stringify({ type: 'message', attachments: [{ contentType, content: card }] });
}

function sentenceOf({ queue, title, remedy, repeated }: AlertEvent): string {
  const again = repeated === undefined ? '' : ` (${repeated} more since the last alert)`;
  const todo = remedy === 'none needed' ? '' : ` To do: ${remedy}.`;
  return `[${queue}] ${title}${again}.${todo}`.slice(0, MAX_TEXT);
}
