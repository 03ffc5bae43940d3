import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { addRefusedWorker } from '../../../src/fleet/refused-workers.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { createRefusal } from '../../../workers/process/create-refusal.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

const redis = testRedis();

it('after an outage of Redis it is not known for three heartbeats which workers live', async () => {
  const keys = keysOf(redis.freshPrefix(), 'default');
  const client = redis.connect({ forWorker: true });
  await client.ping();
  const refusal = createRefusal({
    redis: client,
    keys,
    id: 'refused',
    heartbeatMs: 300,
    settings: { probeMinMs: 1, probeMaxMs: 1, retryAfterMaxMs: 1, probeTtlMs: 1 },
    suspend: () => {},
    readiness: { set: () => {} },
    log: pino({ level: 'silent' }),
  });
  onTestFinished(() => refusal.stop());
  const refused = { kind: 'hold', hold: 'credentials', code: 'C', always: true } as const;
  const judged = () => refusal.judge(refused);
  expect(await judged()).toBe('all');
  await redis.client.client('KILL', 'ID', String(await client.client('ID')));
  await until(() => client.status !== 'ready', { what: 'the end of the connection' });
  await until(() => client.status === 'ready', { what: 'the new connection' });
  expect(await judged()).toBe('alone');
  // It is suspended for a moment only.
  await until(async () => (await judged()) === 'all', { what: 'the fleet to be known' });
  expect(await addRefusedWorker(redis.client, keys, 'refused')).toBe(true);
});
