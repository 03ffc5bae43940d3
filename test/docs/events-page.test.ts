import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EVENTS } from '../../src/events/describe.ts';
import { printedByReceiver } from './support/example-receiver.ts';

const page = readFileSync('docs/events.md', 'utf8');

describe('docs/events.md', () => {
  it('lists every event with its meaning, and no other', () => {
    const rows = [...page.matchAll(/^\| `([a-z]+\.[a-z]+)` +\| (.+?) +\|/gm)];
    const listed = rows.map(([, name, meaning]) => [name, meaning]);
    expect(listed).toEqual(Object.entries(EVENTS).map(([name, { meaning }]) => [name, meaning]));
  });

  it('has a receiver that takes ours once, and neither forged nor old ones', async () => {
    const ended = { event: 'notice.ended', at: 1_795_253_405_000 } as const;
    const printed = await printedByReceiver('docs/events.md', 'EVENT_WEBHOOK_SECRET', [
      { ...ended, cursor: '1-1', notice: 'n-1', state: 'accepted' },
      { ...ended, cursor: '1-2', notice: 'n-2', state: 'rejected', code: 'BAD' },
    ]);
    expect(printed).toBe('n-1 accepted \nn-2 rejected BAD\n');
  });
});
