import { describe, expect, it } from 'vitest';
import { numbers } from '../support/fleet.ts';
import { beyondPace, limitedFleet } from './support/limited-fleet.ts';

describe('a fleet keeps a rate limit', () => {
  const { start, acceptedAt, untilAccepted } = limitedFleet();

  it('two processes, notices and chunks: together never beyond it, and no attempt is spent on waiting', async () => {
    const on = await start({ RATE_LIMIT: '40' });
    const list = numbers(100, 5_000).map((contact) => ({ contact }));
    await Promise.all([
      on.sendEach(numbers(150)),
      on.queue.import(list, { templateCode: 'PACE', batchId: 'b', chunkSize: 1 }),
    ]);
    await untilAccepted(on, 250);
    const times = acceptedAt(on);
    expect(times).toHaveLength(250);
    expect(beyondPace(times, 40)).toBeLessThanOrEqual(0);
    // Both lanes moved: neither waited for the end of the other.
    const chunks = on.emulator.details().map(({ templateCode }) => templateCode === 'PACE');
    expect(chunks.indexOf(true)).toBeLessThan(chunks.lastIndexOf(false));
    expect(chunks.indexOf(false)).toBeLessThan(chunks.lastIndexOf(true));
    expect(on.emulator.record()).toMatchObject({ twice: 0, distinct: 250 });
    expect(on.attempts().every(({ attempt }) => attempt === 1)).toBe(true);
  }, 120_000);
});
