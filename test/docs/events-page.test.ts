import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EVENT_NAMES, type AlertDraft } from '../../src/ops/alerts/alert-event.ts';
import { printedByReceiver } from './support/example-receiver.ts';

const page = readFileSync('docs/events.md', 'utf8');

describe('docs/events.md', () => {
  it('lists every event of the webhook, and no other', () => {
    const table = page.split('in `event`:')[1]?.split('\n\n')[1] ?? '';
    const first = table.split('\n').map((row) => row.split('|')[1] ?? '');
    const names = first.flatMap((cell) => [...cell.matchAll(/`([a-z.]+)`/g)].map(([, one]) => one));
    expect(new Set(names)).toEqual(new Set(EVENT_NAMES));
  });

  it('has a receiver that takes ours once, and neither forged nor old ones', async () => {
    const at = '2026-11-21T09:30:05.000Z';
    const notices = [
      { notice: 'n-1', job: 'n-1', state: 'accepted', at },
      { notice: 'n-2', job: 'n-2', state: 'rejected', code: 'TEMPLATE_NOT_FOUND', at },
    ] as const;
    const title = '2 single notices ended';
    const draft: AlertDraft = { event: 'notices.ended', title, remedy: '', data: { notices } };
    const printed = await printedByReceiver('docs/events.md', 'EVENT_WEBHOOK_SECRET', draft);
    expect(printed).toBe('n-1 accepted \nn-2 rejected TEMPLATE_NOT_FOUND\n');
  });
});
