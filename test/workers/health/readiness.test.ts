import { expect, it } from 'vitest';
import { UnreadyReasons } from '../../../workers/health/readiness.ts';

it('a worker is ready while there are no reasons against it', () => {
  let now = 1_000;
  const readiness = new UnreadyReasons(() => now);
  expect(readiness.reasons()).toEqual([]);
  readiness.set('redis-away', true);
  now = 2_000;
  readiness.set('stopping', true);
  readiness.set('redis-away', true);
  expect(readiness.reasons()).toEqual([
    { reason: 'redis-away', since: 1_000 },
    { reason: 'stopping', since: 2_000 },
  ]);
  readiness.set('redis-away', false);
  readiness.set('event-loop', false);
  expect(readiness.reasons()).toEqual([{ reason: 'stopping', since: 2_000 }]);
  now = 3_000;
  readiness.set('redis-away', true);
  expect(readiness.reasons()[1]).toEqual({ reason: 'redis-away', since: 3_000 });
});

it('a reason that is reported for a time ends that long after its last report', () => {
  let now = 1_000;
  const readiness = new UnreadyReasons(() => now);
  readiness.report('payload-key', 100);
  now = 1_050;
  readiness.report('payload-key', 100);
  now = 1_149;
  expect(readiness.reasons()).toEqual([{ reason: 'payload-key', since: 1_000 }]);
  now = 1_150;
  expect(readiness.reasons()).toEqual([]);
  readiness.report('payload-key', 100);
  expect(readiness.reasons()).toEqual([{ reason: 'payload-key', since: 1_150 }]);
});
