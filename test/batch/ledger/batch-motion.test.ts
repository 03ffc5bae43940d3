import { describe, expect, it } from 'vitest';
import { motionOf, STALLED_AFTER_MS } from '../../../src/batch/ledger/batch-motion.ts';
import { batchFrom, type Batch } from '../../../src/batch/ledger/batch-record.ts';
import type { SendingFleet } from '../../../src/batch/ledger/blocked-reason.ts';
import type { Hold } from '../../../src/contracts/hold.ts';

const NOW = 1_800_000_000_000;
const LONG_AGO = NOW - STALLED_AFTER_MS;

/** An open batch in which nothing has changed for long enough. */
function still(some: Readonly<Record<string, string | number>> = {}): Batch {
  const fields = { phase: 'sending', pending: 5, total: 10, movedAt: LONG_AGO, ...some };
  const texts = Object.entries(fields).map(([name, value]) => [name, String(value)]);
  const read = batchFrom('b', Object.fromEntries(texts) as Record<string, string>);
  if (read === undefined) throw new Error('no batch');
  return read;
}

const HOLD: Hold = { kind: 'credit', code: 'HTTP_402', since: 0, nextProbeAt: 0, failedProbes: 0 };
const idle: SendingFleet = {
  workers: [{ active: 0 }, { active: 0 }],
  hold: undefined,
  templateHolds: [],
  importing: false,
};
const none: SendingFleet = { ...idle, workers: [] };
const RESTARTED = { movedAt: NOW - 10, restartedAt: NOW - 10 };

describe('whether a batch is stalled', () => {
  it.each([
    ['sending, nothing changed for a minute', still(), idle, true],
    ['importing with contacts', still({ phase: 'importing' }), idle, true],
    ['being sent', still({ pending: 2, sending: 3 }), idle, true],
    ['moved less than a minute ago', still({ movedAt: LONG_AGO + 1 }), idle, false],
    ['its rate allows the next chunk later', still({ nextAt: NOW + 5_000 }), idle, false],
    ['its rate allowed it a minute ago', still({ nextAt: LONG_AGO }), idle, true],
    [
      'waits for its turn behind other batches',
      still(),
      { ...idle, workers: [{ active: 3 }] },
      false,
    ],
    ['its jobs were queued again, and none was taken', still(RESTARTED), idle, true],
    ['its jobs were queued again and taken', still({ ...RESTARTED, movedAt: NOW }), idle, false],
    ['no worker', still(), none, false],
    ['a hold', still(), { ...idle, hold: HOLD }, false],
    ['paused', still({ phase: 'paused' }), idle, false],
    ['cancelled', still({ phase: 'cancelled' }), idle, false],
    ['finished', still({ phase: 'finished', pending: 0 }), idle, false],
    ['nothing pending', still({ pending: 0 }), idle, false],
    ['its import stopped', still({ phase: 'importing', pending: 0 }), idle, false],
  ] as const)('%s', (_, batch, around, stalled) => {
    const motion = motionOf(batch, around, NOW);
    expect(motion.stalled).toBe(stalled);
    const words = stalled ? /^it is stalled: .*"notices doctor"/ : /^(?!.*stalled)/;
    expect(motion.standstill ?? 'it moves').toMatch(words);
  });
});
