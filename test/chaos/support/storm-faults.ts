import { BAD } from './bad-notices.ts';
import { TAKEN_OVER_MS } from './settings.ts';
import type { Stage } from './stage.ts';
import {
  anyOf,
  bad,
  CLIENT_KILL,
  LASTS_MS,
  link,
  queueMalformed,
  refusal,
  service,
  type StormFault,
} from './storm-fault.ts';

const KEY_PAIR = { accessKey: 'emulator-access-key', secretKey: 'emulator-secret-key' };

/** Longer than ATTEMPTS attempts take. */
const OUTAGE_MS = 5_000;

const ofService = ({ proxies }: Stage) => proxies.service;
const ofRedis = ({ proxies }: Stage) => proxies.redis;

const cut = (
  name: string,
  direction: 'up' | 'down',
  bytes: number,
  by: 'reset' | 'end' = 'reset',
) => link(name, ofService, { kind: 'cut', direction, bytes, by, times: 20 });

/** A step that answers how often it struck, for those that are done at once. */
const act = (name: string, strike: (stage: Stage, random: () => number) => number): StormFault => ({
  name,
  strike: (stage, random) => Promise.resolve(strike(stage, random)),
});

/** Signals a worker, and starts another one in its place. */
const felled = (name: string, signal: 'SIGKILL' | 'SIGTERM') =>
  act(name, (stage, random) => {
    stage.fell(anyOf(stage.live(), random), signal);
    stage.replace();
    return 1;
  });

/** Signals Redis, and mends it after a while. */
const redis = (
  name: string,
  signal: 'SIGKILL' | 'SIGSTOP',
  mend: (stage: Stage) => Promise<unknown>,
): StormFault => ({
  name,
  strike: async (stage) => {
    await stage.server.kill(signal);
    await stage.wait(LASTS_MS);
    await mend(stage);
    return 1;
  },
});

/**
 * What a storm chooses from: every kind of fault of the other scenarios, except those that need another
 * stage (certificates, a failover, wrong clocks, a blocked event loop, bad contacts in the batch) or last too long
 * (connections that stay silent).
 */
export const STORM_FAULTS: readonly StormFault[] = [
  felled('SIGKILL', 'SIGKILL'),
  act('SIGKILL of all workers', (stage) => {
    const live = stage.live();
    for (const worker of live) {
      stage.fell(worker, 'SIGKILL');
      stage.replace();
    }
    return live.length;
  }),
  act('SIGSTOP past the lock', (stage, random) => {
    const worker = anyOf(stage.live(), random);
    worker.kill('SIGSTOP');
    void stage.wait(TAKEN_OVER_MS + 1_000).then(() => worker.kill('SIGCONT'));
    return 1;
  }),
  felled('SIGTERM', 'SIGTERM'),
  {
    name: 'stop signal to a process group',
    strike: async (stage) => {
      const group = await stage.start(2);
      await stage.wait(LASTS_MS);
      stage.fell(group, 'SIGINT');
      return 1;
    },
  },
  redis('Redis killed', 'SIGKILL', ({ server }) => server.restart()),
  redis('Redis frozen', 'SIGSTOP', ({ server }) => server.kill('SIGCONT')),
  refusal('Redis refuses writes', [
    ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
    ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
  ]),
  refusal('Redis out of memory', [
    ['CONFIG', 'SET', 'maxmemory', '1'],
    ['CONFIG', 'SET', 'maxmemory', '0'],
  ]),
  // Of a master that nobody hears of: it answers READONLY, and keeps what it has.
  refusal('Redis a replica for a moment', [
    ['REPLICAOF', '127.0.0.1', '1'],
    ['REPLICAOF', 'NO', 'ONE'],
  ]),
  act('connections to Redis reset', ({ proxies: { redis, producer } }) => {
    const stood = redis.connections + producer.connections;
    redis.resetAll();
    producer.resetAll();
    return stood;
  }),
  CLIENT_KILL,
  link('answers of Redis lost', ofRedis, { kind: 'drop-reply', times: 8 }),
  link('black hole to Redis', ofRedis, { kind: 'black-hole' }),
  link('latency to Redis', ofRedis, { kind: 'delay', ms: 100 }),
  link('producer cut off', ({ proxies }) => proxies.producer, {
    kind: 'cut',
    direction: 'up',
    bytes: 2_000,
    times: 2,
  }),
  link('replies to adds lost', ({ proxies }) => proxies.producer, { kind: 'drop-reply', times: 4 }),
  link('refused', ofService, { kind: 'refuse' }),
  link('black hole', ofService, { kind: 'black-hole', after: 'dead' }),
  cut('reset before the request', 'up', 0),
  cut('reset in place of the answer', 'down', 0),
  cut('reset during the request', 'up', 300),
  cut('reset within the answer', 'down', 40),
  cut('closed within the answer', 'down', 40, 'end'),
  link('half-closed', ofService, { kind: 'half-close', times: 20 }),
  link('dead keep-alive', ofService, { kind: 'stale', by: 'reset' }),
  link('silent keep-alive', ofService, { kind: 'stale', by: 'silence' }),
  link('latency', ofService, { kind: 'delay', ms: 300 }),
  service('500', { status: 500, rate: 0.5 }),
  service('500 after acting', { status: 500, afterActing: true, rate: 0.3 }),
  service('503', { status: 503 }),
  service('503 for long', { status: 503 }, OUTAGE_MS),
  service('503 with Retry-After for long', { status: 503, retryAfter: 1 }, OUTAGE_MS),
  service('500 after acting for long', { status: 500, afterActing: true }, OUTAGE_MS),
  link('refused for long', ofService, { kind: 'refuse' }, OUTAGE_MS),
  bad('a foreign sender key', BAD.foreign),
  bad('a page for one number', BAD.page),
  bad('401 with a code of its own', BAD.unknownSender),
  { name: 'malformed jobs', strike: queueMalformed },
  service('429', { status: 429, retryAfter: 1 }),
  service('402', { status: 402 }),
  service('a page', {
    status: 404,
    bodyText: '<html></html>',
    headers: { 'content-type': 'text/html' },
  }),
  service('redirects', { status: 302, headers: { location: 'http://127.0.0.1:9/' } }),
  service('answers cut short', { truncate: 3, rate: 0.3 }),
  service('slow answers', { slowBody: { bytes: 5, everyMs: 30 }, rate: 0.3 }),
  service('garbage', { garbage: 'this is not HTTP\r\n\r\n', rate: 0.3 }),
  service('100 MB', { hugeBody: 100_000_000, times: 3 }),
  service('never answered', { hang: 'after-acting', times: 10 }),
  act('token revoked', ({ fleet }) => fleet.emulator.revokeTokens()),
  {
    name: 'no token is issued',
    strike: async (stage) => {
      const { emulator } = stage.fleet;
      emulator.addFault({ on: 'token', status: 503 });
      emulator.revokeTokens();
      await stage.wait(LASTS_MS);
      return stage.clearFaults();
    },
  },
  {
    name: 'the key pair is refused',
    strike: async (stage) => {
      const { emulator } = stage.fleet;
      const { refused } = emulator.record().tokens;
      emulator.setApp({ ...KEY_PAIR, secretKey: 'another' });
      await stage.wait(LASTS_MS);
      emulator.setApp(KEY_PAIR);
      return emulator.record().tokens.refused - refused;
    },
  },
  act('foreign issuance', ({ fleet }) => {
    fleet.emulator.issueForeign();
    return 1;
  }),
];
