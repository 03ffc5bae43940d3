import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { UnreadyReasons } from '../../../workers/health/readiness.ts';
import { createHeartbeat } from '../../../workers/maintenance/heartbeat.ts';
import { signal, until } from '../../support/wait.ts';

it('a worker without a connection is not ready until a heartbeat is answered', async () => {
  const readiness = new UnreadyReasons();
  const reasons = () => readiness.reasons().map(({ reason }) => reason);
  const away = signal();
  const seen: (readonly string[])[] = [];
  const sent = { requests: 2, contacts: 3, forMs: 5 };
  const heartbeat = createHeartbeat({
    id: 'a',
    config: {
      digests: { ATTEMPTS: 'abc' },
      service: { baseUrl: 'https://s.example', accessKey: 'a', secretKey: 'b' },
    },
    concurrency: 1,
    active: () => 0,
    acceptedAgoMs: () => Infinity,
    everyMs: 5,
    takeSent: () => sent,
    send: () => {
      seen.push(reasons());
      return away.promise;
    },
    deregister: () => Promise.resolve(),
    readiness,
    log: pino({ level: 'silent' }),
  });
  onTestFinished(() => Promise.resolve(heartbeat.stop()));
  readiness.set('redis-away', true);
  await heartbeat.start();
  await until(() => seen.length > 0, { what: 'the first heartbeat', everyMs: 1 });
  expect(seen[0]).toContain('redis-away');
  expect(heartbeat.state().sent).toEqual(sent);
  away.resolve();
  await until(() => !reasons().includes('redis-away'), { what: 'the answer', everyMs: 1 });
});
