import { describe, expect, it } from 'vitest';
import type { AlertEvent } from '../../../src/ops/alerts/alert-event.ts';
import { formatAlert } from '../../../src/ops/alerts/chat-format.ts';

const ALERT: AlertEvent = {
  version: 1,
  id: 'alert-1',
  queue: 'notices:default',
  at: '2026-11-21T09:30:05.000Z',
  event: 'hold.begun',
  title: 'the queue is held: nothing is sent: "quoted"',
  remedy: 'top up the account at the service',
  data: { kind: 'credit' },
};
const SENTENCE =
  '[notices:default] the queue is held: nothing is sent: "quoted". To do: top up the account at the service.';
const format = (alert: AlertEvent, as: Parameters<typeof formatAlert>[1]): unknown =>
  JSON.parse(formatAlert(JSON.stringify(alert), as));

describe('the body of an alert', () => {
  it('is the alert itself as json', () => {
    expect(format(ALERT, 'json')).toEqual(ALERT);
  });

  it('is one sentence for chat tools', () => {
    expect(format(ALERT, 'text')).toEqual({ text: SENTENCE });
    expect(format(ALERT, 'content')).toEqual({ content: SENTENCE });
    expect(format(ALERT, 'card')).toMatchObject({
      type: 'message',
      attachments: [{ content: { type: 'AdaptiveCard', body: [{ text: SENTENCE }] } }],
    });
  });

  it('has the repetitions, no remedy where none is needed, and a bound', () => {
    const short = { ...ALERT, title: 'over', remedy: 'none needed', repeated: 2 };
    expect(format(short, 'text')).toEqual({
      text: '[notices:default] over (2 more since the last alert).',
    });
    const long = { ...ALERT, title: 'x'.repeat(10_000) };
    expect((format(long, 'text') as { text: string }).text).toHaveLength(2_000);
  });
});
