import type { Fault } from '../../../src/emulator/faults/fault.ts';
import type { FaultProxy } from '../../support/fault-proxy.ts';
import type { LinkFault } from '../../support/faulty-link.ts';
import { until } from '../../support/wait.ts';
import { LOCK_MS, STALLED_MS } from './settings.ts';
import { BAD } from './bad-notices.ts';
import type { BadNotices, Stage } from './stage.ts';

/** Something short that breaks in a storm, where the next fault comes whatever became of this one. */
export interface StormFault {
  readonly name: string;
  /** Answers how often it struck. */
  readonly strike: (stage: Stage, random: () => number) => Promise<number>;
}

/** How long a fault lasts that has an end: below the time between two. */
const LASTS_MS = 700;

/** Longer than ATTEMPTS attempts take. */
const OUTAGE_MS = 5_000;

const service = (name: string, fault: Omit<Fault, 'on'>, ms = LASTS_MS): StormFault => ({
  name,
  strike: async (stage) => {
    stage.fleet.emulator.addFault({ on: 'send', ...fault });
    await stage.wait(ms);
    return stage.clearFaults();
  },
});

const link = (
  name: string,
  which: (stage: Stage) => FaultProxy,
  fault: LinkFault,
  ms = LASTS_MS,
): StormFault => ({
  name,
  strike: async (stage) => {
    const proxy = which(stage);
    const before = proxy.struck;
    await proxy.place(fault);
    // Refused connections are not seen; those that exist are reset, too.
    if (fault.kind === 'refuse') proxy.resetAll();
    await stage.wait(ms);
    await proxy.heal();
    return proxy.struck - before;
  },
});

const ofService = ({ proxies }: Stage) => proxies.service;
const ofRedis = ({ proxies }: Stage) => proxies.redis;

function anyOf<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
}

const bad = (name: string, notices: BadNotices): StormFault => ({
  name,
  strike: async (stage) => {
    await stage.sendBad(notices);
    return notices.count;
  },
});

/** The client may still be without its connection, because of the fault before. */
const setReplicasWanted = ({ client }: Stage, count: number) =>
  until(
    () =>
      client.config('SET', 'min-replicas-to-write', count).then(
        () => true,
        () => false,
      ),
    {
      what: `Redis to take min-replicas-to-write ${count}`,
      deadlineMs: 10_000,
    },
  );

/** What a storm chooses from. */
export const STORM_FAULTS: readonly StormFault[] = [
  {
    name: 'SIGKILL',
    strike: (stage, random) => {
      stage.fell(anyOf(stage.live(), random), 'SIGKILL');
      stage.replace();
      return Promise.resolve(1);
    },
  },
  {
    name: 'SIGSTOP past the lock',
    strike: (stage, random) => {
      const worker = anyOf(stage.live(), random);
      worker.kill('SIGSTOP');
      void stage.wait(LOCK_MS + 3 * STALLED_MS).then(() => worker.kill('SIGCONT'));
      return Promise.resolve(1);
    },
  },
  {
    name: 'SIGTERM',
    strike: (stage, random) => {
      stage.fell(anyOf(stage.live(), random), 'SIGTERM');
      stage.replace();
      return Promise.resolve(1);
    },
  },
  {
    name: 'stop signal to a process group',
    strike: async (stage) => {
      const group = await stage.start(2);
      await stage.wait(LASTS_MS);
      stage.fell(group, 'SIGINT');
      return 1;
    },
  },
  {
    name: 'Redis killed',
    strike: async (stage) => {
      await stage.server.kill('SIGKILL');
      await stage.wait(LASTS_MS);
      await stage.server.restart();
      return 1;
    },
  },
  {
    name: 'Redis frozen',
    strike: async (stage) => {
      await stage.server.kill('SIGSTOP');
      await stage.wait(LASTS_MS);
      await stage.server.kill('SIGCONT');
      return 1;
    },
  },
  {
    name: 'Redis refuses writes',
    strike: async (stage) => {
      await setReplicasWanted(stage, 1);
      await stage.wait(LASTS_MS);
      await setReplicasWanted(stage, 0);
      return 1;
    },
  },
  {
    name: 'connections to Redis reset',
    strike: ({ proxies: { redis, producer } }) => {
      const cut = redis.connections + producer.connections;
      redis.resetAll();
      producer.resetAll();
      return Promise.resolve(cut);
    },
  },
  link('answers of Redis lost', ofRedis, { kind: 'drop-reply', times: 8 }),
  link('black hole to Redis', ofRedis, { kind: 'black-hole' }),
  link('producer cut off', ({ proxies }) => proxies.producer, {
    kind: 'cut',
    direction: 'up',
    bytes: 2_000,
    times: 2,
  }),
  link('replies to adds lost', ({ proxies }) => proxies.producer, { kind: 'drop-reply', times: 4 }),
  link('refused', ofService, { kind: 'refuse' }),
  link('black hole', ofService, { kind: 'black-hole', after: 'dead' }),
  link('reset before the request', ofService, {
    kind: 'cut',
    direction: 'up',
    bytes: 0,
    times: 20,
  }),
  link('reset in place of the answer', ofService, {
    kind: 'cut',
    direction: 'down',
    bytes: 0,
    times: 20,
  }),
  link('half-closed', ofService, { kind: 'half-close', times: 20 }),
  link('dead keep-alive', ofService, { kind: 'stale', by: 'reset' }),
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
  service('429', { status: 429, retryAfter: 1 }),
  service('402', { status: 402 }),
  service('a page', {
    status: 404,
    bodyText: '<html></html>',
    headers: { 'content-type': 'text/html' },
  }),
  service('garbage', { garbage: 'this is not HTTP\r\n\r\n', rate: 0.3 }),
  service('100 MB', { hugeBody: 100_000_000, times: 3 }),
  service('never answered', { hang: 'after-acting', times: 10 }),
  {
    name: 'token revoked',
    strike: ({ fleet }) => Promise.resolve(fleet.emulator.revokeTokens()),
  },
  {
    name: 'foreign issuance',
    strike: ({ fleet }) => {
      fleet.emulator.issueForeign();
      return Promise.resolve(1);
    },
  },
];
