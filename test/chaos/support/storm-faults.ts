import { setTimeout as pause } from 'node:timers/promises';
import { JOB_NAME } from '../../../src/contracts/job.ts';
import { QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { until } from '../../support/wait.ts';
import {
  answers,
  BAD,
  clientKill,
  cut,
  ELSEWHERE,
  GARBAGE,
  HTML,
  link,
  NO_MASTER,
  NO_WRITES,
  noTokens,
  OUT_OF_MEMORY,
  pairRefused,
  redis,
  refused,
  THROTTLED,
  type Strike,
} from './faults.ts';
import { TAKEN_OVER_MS } from './settings.ts';
import { type BadNotices, KEYS, type Stage } from './stage.ts';

/** Something short that breaks in a storm, where the next fault comes whatever became of this one. */
export type StormFault = readonly [name: string, strike: Strike, ms?: number];

/** How long a fault lasts that has an end: below the time between two. */
export const LASTS_MS = 700;

/** Longer than ATTEMPTS attempts take. */
const OUTAGE_MS = 5_000;

/** One of these. */
function anyOf<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
}

/** For what is done at once. */
const act =
  (strike: (stage: Stage, random: () => number) => number): Strike =>
  (stage, _, random) =>
    Promise.resolve(strike(stage, random));

/** Signals a worker, and starts another one in its place. */
const felled = (signal: 'SIGKILL' | 'SIGTERM') =>
  act((stage, random) => {
    stage.fell(anyOf(stage.live(), random), signal);
    stage.replace();
    return 1;
  });

/** Notices that the service refuses for themselves. */
const bad =
  (notices: BadNotices): Strike =>
  async (stage) => {
    await stage.sendBad(notices);
    return notices.count;
  };

const killAll = act((stage) => {
  const live = stage.live();
  for (const worker of live) {
    stage.fell(worker, 'SIGKILL');
    stage.replace();
  }
  return live.length;
});

const freezeOne = act((stage, random) => {
  const worker = anyOf(stage.live(), random);
  worker.kill('SIGSTOP');
  void pause(TAKEN_OVER_MS + 1_000).then(() => worker.kill('SIGCONT'));
  return 1;
});

const stopGroup: Strike = async (stage, ms) => {
  const group = await Promise.all([stage.start(), stage.start()]);
  await pause(ms);
  for (const worker of group) stage.fell(worker, 'SIGINT');
  return group.length;
};

const resetRedis = act(({ proxies: { redis: ofWorkers, producer } }) => {
  const stood = ofWorkers.connections + producer.connections;
  ofWorkers.resetAll();
  producer.resetAll();
  return stood;
});

/** Far beyond what a job may be nested. */
const LEVELS = 1_000;

/**
 * Queues at-least-once jobs of another producer of which no request can be made: one with a contact that is nested too
 * deep, one without contacts, one of no known form.
 */
const malformedJobs: Strike = async ({ client, loads: [load] }) => {
  const [deep = '', none = '', unknown = ''] = load?.take(3) ?? [];
  let nested: unknown = 'x';
  for (let level = 0; level < LEVELS; level++) nested = [nested];
  const notice = { templateCode: 'CHAOS', scheduleType: 'DIRECTLY' };
  const jobs = {
    [deep]: { v: 1, notice: { ...notice, contacts: [{ contact: deep, nested }] } },
    [none]: { v: 1, notice },
    [unknown]: { contact: unknown },
  };
  const queue = openBullQueue(QUEUE_NAME, client, KEYS);
  for (const [contact, data] of Object.entries(jobs)) {
    const id = `malformed-${contact}`;
    // Of two adds with one id the second adds nothing.
    const add = () => queue.add(JOB_NAME, data, { jobId: id }).then(() => true);
    await until(() => add().catch(() => false), { what: `Redis to take ${id}` });
    load?.bad.set(id, contact);
  }
  await queue.close();
  return 3;
};

const AFTER_ACTING = { status: 500, afterActing: true } as const;

/**
 * What a storm chooses from: every kind of fault of the other scenarios, except those that need another
 * stage (certificates, a failover, wrong clocks, a blocked event loop, bad contacts in the batch) or last too long
 * (connections that stay silent).
 */
export const STORM_FAULTS: readonly StormFault[] = [
  ['SIGKILL', felled('SIGKILL')],
  ['SIGKILL of all workers', killAll],
  ['SIGSTOP past the lock', freezeOne],
  ['SIGTERM', felled('SIGTERM')],
  ['stop signal to a process group', stopGroup],
  ['Redis killed', redis('SIGKILL')],
  ['Redis frozen', redis('SIGSTOP')],
  ['Redis refuses writes', NO_WRITES],
  ['Redis out of memory', OUT_OF_MEMORY],
  ['Redis a replica for a moment', NO_MASTER],
  ['connections to Redis reset', resetRedis],
  ['CLIENT KILL', clientKill],
  ['answers of Redis lost', link('redis', { kind: 'drop-reply', times: 8 })],
  ['black hole to Redis', link('redis', { kind: 'black-hole' })],
  ['latency to Redis', link('redis', { kind: 'delay', ms: 100 })],
  ['producer cut off', link('producer', { kind: 'cut', direction: 'up', bytes: 2_000, times: 2 })],
  ['replies to adds lost', link('producer', { kind: 'drop-reply', times: 4 })],
  ['refused', refused],
  ['black hole', link('service', { kind: 'black-hole', after: 'dead' })],
  ['reset before the request', cut('up', 0)],
  ['reset in place of the answer', cut('down', 0)],
  ['reset during the request', cut('up', 300)],
  ['reset within the answer', cut('down', 40)],
  ['closed within the answer', cut('down', 40, 'end')],
  ['half-closed', link('service', { kind: 'half-close', times: 20 })],
  ['dead keep-alive', link('service', { kind: 'stale', by: 'reset' })],
  ['silent keep-alive', link('service', { kind: 'stale', by: 'silence' })],
  ['latency', link('service', { kind: 'delay', ms: 300 })],
  ['500', answers({ status: 500, rate: 0.5 })],
  ['500 after acting', answers({ ...AFTER_ACTING, rate: 0.3 })],
  ['503', answers({ status: 503 })],
  ['503 for long', answers({ status: 503 }), OUTAGE_MS],
  ['503 with Retry-After for long', answers({ status: 503, retryAfter: 1 }), OUTAGE_MS],
  ['500 after acting for long', answers(AFTER_ACTING), OUTAGE_MS],
  ['refused for long', refused, OUTAGE_MS],
  ['a foreign sender key', bad(BAD.foreign)],
  ['a page for one number', bad(BAD.page)],
  ['401 with a code of its own', bad(BAD.unknownSender)],
  ['malformed jobs', malformedJobs],
  ['429', answers(THROTTLED)],
  ['402', answers({ status: 402 })],
  ['a page', answers({ status: 404, ...HTML })],
  ['redirects', answers(ELSEWHERE)],
  ['answers cut short', answers({ truncate: 3, rate: 0.3 })],
  ['slow answers', answers({ slowBody: { bytes: 5, everyMs: 30 }, rate: 0.3 })],
  ['garbage', answers({ garbage: GARBAGE, rate: 0.3 })],
  ['100 MB', answers({ hugeBody: 100_000_000, times: 3 })],
  ['never answered', answers({ hang: 'after-acting', times: 10 })],
  ['token revoked', act(({ fleet }) => fleet.emulator.revokeTokens())],
  ['no token is issued', noTokens],
  ['the key pair is refused', pairRefused],
  [
    'foreign issuance',
    act(({ fleet }) => {
      fleet.emulator.issueForeign();
      return 1;
    }),
  ],
];
