import { createHash } from 'node:crypto';
import { InputError } from '../contracts/errors.ts';
import { COMPARED_VARIABLES, type ComparedVariable } from '../contracts/version.ts';
import { describeAnswerRules } from '../contracts/answer-rules.ts';
import { processEnvironment, type Environment } from './environment.ts';
import { showInvalid, showPath, showValue } from './mask.ts';
import { readEnvironment, type ReadOptions, type Reading } from './read.ts';
import { metadataOf, type Row } from './variable.ts';
import { asTree, type ValueTree, rowOf, type Values } from './variables.ts';

/**
 * The whole configuration. Each field is described at its row in `variables/`. Names of durations
 * end in `Ms`: milliseconds.
 */
export type Config = Readonly<ReturnType<typeof configOf>> & {
  /** What workers compare ({@link digestsOf}). */
  readonly digests: ReturnType<typeof digestsOf>;
};

/** How to reach the messaging service; undefined without its URL or its key pair. */
export type ServiceConfig = Readonly<NonNullable<Config['service']>>;

/** How workers take jobs from the queue, retry them and stop. */
export type WorkerConfig = Readonly<Config['worker']>;

/** How workers detect that Redis was restored from an old copy. */
export type RestoreConfig = Readonly<Config['restore']>;

/** Where the ops server listens, and who may access it. */
export type OpsConfig = Readonly<Config['ops']>;

/**
 * Reads the configuration.
 *
 * @throws InputError CONFIG_INVALID, which names every invalid value and every broken rule at once
 */
export function loadConfig(
  environment: Environment = processEnvironment(),
  options?: ReadOptions,
): Config {
  const { values, issues } = readEnvironment(environment, options);
  if (issues.length > 0) throw new InputError('CONFIG_INVALID', issues);
  const tree = asTree(values);
  const constants = constantsIn(environment, tree.service.answerTimeoutMs);
  return { ...configOf(tree, constants), digests: digestsOf(values) };
}

/** Adds the constants, and the fields that follow from other fields. */
function configOf(
  { service, redis, redisWatch, queue, worker, restore, ops, events, ...others }: ValueTree,
  constants: Constants,
) {
  const { address, ...opsOthers } = ops;
  const { issueDeadlineMs, sendDeadlineMs } = constants.service;
  const { heartbeatMs, holdProbeMaxMs } = constants.worker;
  const holdProbeMinMs = Math.min(constants.worker.holdProbeMinMs, holdProbeMaxMs);
  return {
    ...others,
    redis: { ...redis, ...constants.redis },
    service: serviceConfig(service, worker, others.logLevel, constants),
    queue: { ...queue, ...constants.queue },
    token: {
      ...constants.token,
      issueDeadlineMs,
      /** Pauses after refused issuances: as between the probes of a hold, at most a minute. */
      refusedMinMs: Math.min(holdProbeMinMs, 60_000),
      refusedMaxMs: Math.min(holdProbeMaxMs, 60_000),
    },
    worker: {
      ...worker,
      ...constants.worker,
      keepFailedMs: queue.keepFailedMs,
      sendDeadlineMs,
      holdProbeMinMs,
      rateLimit: { limit: worker.rateLimit, ...constants.rateLimit },
      /** How often workers look for jobs of crashed workers. */
      stalledIntervalMs: heartbeatMs,
    },
    redisWatch: { ...redisWatch, ...constants.redisWatch, everyMs: 3 * heartbeatMs },
    restore: { ...restore, ...constants.restore },
    ops: {
      ...opsOthers,
      ...address,
      ...constants.ops,
      trustedProxy: (ops.trustedProxy ?? '').split(/[\s,]+/).filter((part) => part !== ''),
      hostNames: (ops.hostNames ?? '').split(/[\s,]+/).filter((part) => part !== ''),
    },
    /** Where events are posted; undefined without a URL. */
    events: webhookConfig(events),
  };
}

function serviceConfig(
  service: ValueTree['service'],
  { concurrency, batchConcurrency }: ValueTree['worker'],
  logLevel: ValueTree['logLevel'],
  constants: Constants,
) {
  const { baseUrl, accessKey, secretKey, apiVersion } = service;
  if (baseUrl === undefined || accessKey === undefined || secretKey === undefined) return undefined;
  return {
    ...service,
    baseUrl,
    accessKey,
    secretKey,
    sendPath: service.sendPath ?? `/api/${apiVersion}/notices/send`,
    ...constants.service,
    /** Of an accepted attempt only lines at level debug tell. */
    acceptedTraceIds: logLevel === 'debug' || logLevel === 'trace',
    /** The most requests in flight at the same time. */
    connections: concurrency + batchConcurrency,
  };
}

function webhookConfig({ url, secret, format }: ValueTree['events']) {
  return url === undefined || secret === undefined ? undefined : { url, secret, format };
}

/**
 * Describes the effective configuration: a secret is `set (24 characters)` or `not set`, a password in a URL `***`, and the
 * rules of ANSWER_RULES_FILE are in words. Throws nothing; what `loadConfig` would not accept is in `issues`.
 */
export function describeConfig(environment?: Environment, options?: ReadOptions) {
  const { readings, values, issues } = readEnvironment(environment, options);
  const rows = [...readings].map(([name, reading]) => ({
    name,
    value: show(rowOf(name), reading),
    from: reading.from,
  }));
  const rules = values.ANSWER_RULES_FILE;
  const answerRules = rules === undefined ? [] : describeAnswerRules(rules);
  return { rows, answerRules, issues };
}

function show(row: Row, { text, value, issue }: Reading): string {
  if (metadataOf(row).readsPath === true && text !== undefined) {
    return issue ? `${showPath(text)} (not valid)` : showPath(text);
  }
  if (!issue) return showValue(row, value);
  return text === undefined ? 'not valid' : `${showInvalid(row, text)} (not valid)`;
}

/** A short digest of each of them, for the heartbeats of workers. */
function digestsOf(values: Values): Readonly<Record<ComparedVariable, string>> {
  const digest = (name: ComparedVariable) =>
    createHash('sha256')
      .update(JSON.stringify(values[name] ?? null))
      .digest('hex')
      .slice(0, 6);
  return Object.fromEntries(COMPARED_VARIABLES.map((name) => [name, digest(name)])) as Record<
    ComparedVariable,
    string
  >;
}

/** Values that no installation has to choose, by the part of the configuration that has them. */
const constantsFor = (answerTimeoutMs: number) => ({
  service: {
    /** One connection attempt to the service, TLS included. */
    connectTimeoutMs: 3_000,
    /** Issuing a token, retries included. */
    issueDeadlineMs: Math.max(10_000, answerTimeoutMs),
    /** A whole attempt: waiting for a token, and both requests. One issuance fits into it. */
    sendDeadlineMs: Math.max(15_000, 3 * answerTimeoutMs),
    /** Immediate retries, within an attempt, of a request that was provably not sent. */
    notSentRetries: 2,
  },
  token: {
    /** After a process crashed while issuing, another one may issue once it has passed. No issuance outlasts it. */
    lockTtlMs: Math.ceil(1.5 * Math.max(10_000, answerTimeoutMs)),
    /** A token younger than this that is refused is tried once more. */
    graceMs: 1_000,
    /** Most issuances of the fleet in the window: tokens may live four seconds. */
    budget: 200,
    budgetWindowMs: 600_000,
    /** How long before its expiry a token is renewed; at most half of its lifetime. */
    renewBeforeMs: 60_000,
  },
  worker: {
    /** How long a worker keeps the lock of a job without renewing it: no job is taken from one that still sends it. */
    lockDurationMs: Math.max(60_000, 9 * answerTimeoutMs),
    /** How long a stopping worker may take to finish the requests in flight. */
    shutdownTimeoutMs: 10_000 + Math.max(15_000, 3 * answerTimeoutMs),
    /** Between heartbeats of a worker: after three missed ones it counts as gone. */
    heartbeatMs: 3_000,
    /** Upper bounds of the random delay before the second attempt, and between any two. */
    backoffBaseMs: 1_000,
    backoffCapMs: 300_000,
    /** The first probe of a hold; each further one comes twice as late, up to the last. */
    holdProbeMinMs: 2_000,
    holdProbeMaxMs: 60_000,
    /** The longest pause that a Retry-After of the service can cause. */
    retryAfterMaxMs: 3_600_000,
  },
  /** After a 429 it decreases by half, never below one request a second, and would recover from zero in this time. */
  rateLimit: { floor: 1, fallPercent: 50, recoveryMs: 120_000 },
  redis: { connectTimeoutMs: 2_000 },
  /** Workers warn when less of the memory limit of Redis is free, in percent. */
  redisWatch: { memoryHeadroom: 10 },
  queue: { enqueueTimeoutMs: 2_000 },
  restore: {
    /** A Redis that lost at most this much time only causes a warning: a failover loses about a second. */
    toleranceMs: 2_000,
    /** Without other evidence a Redis that restarted this long after the last heartbeat may hold an old copy. */
    gapMs: 60_000,
  },
  ops: {
    sessionMs: 43_200_000,
    /** Of `POST /api/v1/notices`. */
    maxBodyBytes: 4_194_304,
    /** Requests of one API key. */
    noticesPerMinute: 6_000,
  },
});

type Constants = ReturnType<typeof constantsFor>;

/** In an environment: JSON with other values, for tests of processes. No part of the interface. */
export const CONSTANTS_OF_TESTS = 'NOTICES_TEST_CONSTANTS';

/** The constants that hold in an environment. */
export function constantsIn(environment: Environment, answerTimeoutMs: number): Constants {
  const constants = constantsFor(answerTimeoutMs);
  const given = JSON.parse(environment[CONSTANTS_OF_TESTS] ?? '{}') as Partial<Constants>;
  for (const part of Object.keys(given) as (keyof Constants)[]) {
    Object.assign(constants[part], given[part]);
  }
  return constants;
}
