import { spreadOf } from '../harness/spread.ts';
import type { NAMES } from '../legs/single-sends.ts';
import type { Results } from '../results.ts';
import { sharedBy, SHARERS } from '../work.ts';

/** How contacts reach the service. */
export type Way = 'alone' | 'chunks';

/**
 * What a contact costs, as measured; NaN for what the run left out, so that all that depends on it is NaN,
 * too.
 */
export interface ContactCosts {
  /** Microseconds of CPU of a worker process. */
  readonly workerUs: number;
  /** Microseconds of CPU of Redis: to queue it, and to have it sent. */
  readonly queueingUs: number;
  readonly sendingUs: number;
  /** Bytes between Redis and all others, in both directions, queueing included. */
  readonly redisBytes: number;
  /** Bytes in the memory of Redis while it waits. */
  readonly storedBytes: number;
  /** Requests to the service, and bytes in both directions. */
  readonly requests: number;
  readonly serviceBytes: number;
}

/** What so many contacts an hour need. */
export interface Need {
  readonly contactsPerSecond: number;
  readonly requestsPerSecond: number;
  /** Cores to provide for workers and for Redis, with headroom. */
  readonly workerCores: number;
  readonly redisCores: number;
  /** Accounts, each on a Redis of its own: an account uses one core of Redis. */
  readonly queues: number;
  /** Bytes in Redis where all contacts of the hour wait. */
  readonly waitingBytes: number;
  /** Bits a second to and from Redis, and to and from the service. */
  readonly redisBits: number;
  readonly serviceBits: number;
}

/** The share of a core that is planned to be busy: peaks and neighbours get the rest. */
export const PLANNED_SHARE = 0.7;

const HOUR_SECONDS = 3_600;
const MICROSECONDS = 1_000_000;

/** Names in the results; as types, so that no program of a contestant is loaded. */
const WORKERS: Readonly<Record<Way, readonly ['singles' | 'chunks', NameOfContestant]>> = {
  alone: ['singles', 'notice-queue, one contact a request'],
  chunks: ['chunks', 'notice-queue'],
};
type NameOfContestant = (typeof NAMES)['alone' | 'chunks'];

/** The largest fleet of each way that is measured. */
const FLEETS: Readonly<Record<Way, string>> = {
  alone: sharedBy(SHARERS.single, 64),
  chunks: sharedBy(SHARERS.chunks, 4),
};

/** Reads the costs of a way from the results of a benchmark. */
export function costsOf(results: Results, way: Way): ContactCosts {
  const [race, name] = WORKERS[way];
  const fleet = results.sharing?.[FLEETS[way]];
  return {
    workerUs: median(results[race]?.[name]?.cpuUs),
    queueingUs: median(fleet?.queueingCpuUs),
    sendingUs: median(fleet?.redisCpuUs),
    redisBytes: median(fleet?.queueingBytes) + median(fleet?.inBytes) + median(fleet?.outBytes),
    storedBytes: way === 'chunks' ? storedInChunk(results) : storedAlone(results),
    requests: median(fleet?.requests),
    serviceBytes: median(fleet?.serviceBytes),
  };
}

const median = (rounds: readonly number[] | undefined) =>
  rounds === undefined ? Number.NaN : spreadOf(rounds).median;

const storedInChunk = ({ counts }: Results) =>
  counts?.find(({ what }) => what === 'bytes in Redis a waiting contact')?.count ?? Number.NaN;

/** Of the longest queue that was measured: in a short one, what is stored once counts too much. */
function storedAlone({ growth = [] }: Results): number {
  const waiting = growth.filter(({ kind }) => kind === 'waiting');
  return waiting.sort((left, right) => right.jobs - left.jobs)[0]?.bytesEach ?? Number.NaN;
}

/** What a number of contacts an hour needs. */
export function needOf(costs: ContactCosts, contactsPerHour: number): Need {
  const perSecond = contactsPerHour / HOUR_SECONDS;
  const redisCores = coresFor(perSecond * (costs.queueingUs + costs.sendingUs));
  return {
    contactsPerSecond: perSecond,
    requestsPerSecond: perSecond * costs.requests,
    workerCores: coresFor(perSecond * costs.workerUs),
    redisCores,
    queues: Math.ceil(redisCores),
    waitingBytes: contactsPerHour * costs.storedBytes,
    redisBits: perSecond * costs.redisBytes * 8,
    serviceBits: perSecond * costs.serviceBytes * 8,
  };
}

/** @param us microseconds of work a second */
const coresFor = (us: number) => us / MICROSECONDS / PLANNED_SHARE;

/** Contacts a second with which the Redis of one account is as busy as planned, queueing included. */
export function endOfQueue({ queueingUs, sendingUs }: ContactCosts): number {
  return (MICROSECONDS * PLANNED_SHARE) / (queueingUs + sendingUs);
}

/** Requests that are in flight on average (Little's law): what the workers' concurrency must allow. */
export const inFlight = (requestsPerSecond: number, answerMs: number) =>
  (requestsPerSecond * answerMs) / 1_000;
