import { describe, expect, it } from 'vitest';
import { stateOfJob, type StateFacts } from '../../src/notices/state-of-job.ts';

const WAITS: StateFacts = {
  place: 'wait',
  listedUnknown: false,
  possiblySent: false,
  held: false,
  limited: false,
};

describe('the state of a job', () => {
  it.each([
    [{ place: 'none' }, 'not-kept', undefined],
    [{ place: 'none', listedUnknown: true, held: true }, 'not-kept', undefined],
    [{ place: 'completed', outcome: 'accepted' }, 'accepted', undefined],
    [{ place: 'completed', outcome: 'expired' }, 'expired', undefined],
    [{ place: 'completed', outcome: 'cancelled' }, 'cancelled', undefined],
    [{ place: 'completed', listedUnknown: true }, 'accepted', undefined],
    [{ place: 'failed', listedUnknown: true }, 'unknown', undefined],
    [{ place: 'wait', listedUnknown: true }, 'unknown', undefined],
    [{ place: 'failed', possiblySent: true }, 'unknown', undefined],
    [{ place: 'failed' }, 'rejected', undefined],
    [{ place: 'active', held: true }, 'sending', undefined],
    [{ place: 'delayed', held: true, limited: true }, 'pending', 'delayed'],
    [{ place: 'wait', held: true, limited: true }, 'pending', 'held'],
    [{ place: 'prioritized', held: true }, 'pending', 'held'],
    [{ place: 'wait', limited: true }, 'pending', 'rate-limited'],
    [{ place: 'prioritized', limited: true }, 'pending', 'rate-limited'],
    [{ place: 'wait' }, 'pending', 'waiting'],
    [{ place: 'prioritized', possiblySent: true }, 'pending', 'waiting'],
  ] as const)('%j: %s %s', (facts, state, reason) => {
    expect(stateOfJob({ ...WAITS, ...facts })).toEqual(
      reason === undefined ? { state } : { state, reason },
    );
  });
});
