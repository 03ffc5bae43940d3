import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ALERTS } from '../../src/ops/alerts/alert-event.ts';
import { alertEvent } from '../../src/ops/alerts/alert-store.ts';
import { printedByReceiver } from './support/example-receiver.ts';

const page = readFileSync('docs/alerts.md', 'utf8');

describe('docs/alerts.md', () => {
  it('lists every alert with its meaning, and no other', () => {
    const rows = [...page.matchAll(/^\| `([a-z.]+)` +\| (.+?) +\|/gm)].map(([, name, meaning]) => [
      name,
      meaning,
    ]);
    expect(rows).toEqual(Object.entries(ALERTS).map(([name, { meaning }]) => [name, meaning]));
  });

  it('shows an alert as it is posted', () => {
    const shown = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '') as object;
    const draft = { event: 'hold.begun', title: '', remedy: '', data: {} } as const;
    expect(Object.keys(shown).sort()).toEqual(Object.keys(alertEvent(draft, 'q', 0)).sort());
  });

  it('has a receiver that takes ours once, and neither forged nor old ones', async () => {
    const { meaning, remedy } = ALERTS.test;
    const draft = { event: 'test', title: meaning, remedy, data: {} } as const;
    const printed = await printedByReceiver('docs/alerts.md', 'ALERT_WEBHOOK_SECRET', draft);
    expect(printed).toBe(`${meaning}. To do: ${remedy}\n`);
  });
});
