import type { Config } from '../../config/config.ts';
import { plainRemoteHosts } from '../../config/address.ts';
import { isLoopbackHost } from '../../format/plain-hosts.ts';
import type { Environment } from '../../config/environment.ts';
import { readEnvironment } from '../../config/read.ts';
import type { Values } from '../../config/variables.ts';
import { countOf } from '../../format/format.ts';
import { ERROR_CODES, NoticeQueueError } from '../../contracts/errors.ts';
import {
  cancelled,
  CHECKS,
  fail,
  ok,
  skip,
  warn,
  type CheckName,
  type Finding,
} from '../../doctor/finding.ts';
import { judgeQueue } from '../../doctor/judge-queue.ts';
import { readMotion } from '../../batch/ledger/batch-motion.ts';
import { nearEndOfRetention, warningMs } from '../../batch/ledger/retention.ts';
import { FAILED_NOTICE_STATES } from '../../ops/entries.ts';
import { translated } from '../../redis/failure.ts';
import { Ledger } from '../../batch/ledger/ledger.ts';
import { judgeRedisSnapshot, readRedisSnapshot } from '../../doctor/judge-redis.ts';
import { readStatus, type Status } from '../../ops/status.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { keysOf, type Keys } from '../../redis/keys.ts';
import { withRedis } from '../../redis/with-redis.ts';
import { probeToken } from './token-probe.ts';

/** Timeout of the first connection to Redis, and of each command, in milliseconds. */
const TIMEOUT_MS = 5_000;

/** Checks the environment. The other checks need a valid one. */
export function examineConfig(environment?: Environment): Finding[] {
  const { readings, values, issues } = readEnvironment(environment, { service: false });
  if (issues.length > 0) {
    const remedy = 'fix the value; docs/configuration.md lists the valid ones';
    return issues.map(({ field, problem }) => fail('config', `${field} ${problem}`, remedy));
  }
  const set = [...readings.values()].filter(({ from }) => from !== 'default').length;
  const warnings = plainText(values);
  const found =
    warnings.length > 0 ? warnings : [ok('config', `${countOf(set, 'variable')} set, all valid`)];
  return [...found, alerts(values)];
}

/** Whether trouble is reported: a person may use the rules of Prometheus alone, so it is no warning. */
function alerts({ EVENT_WEBHOOK_URL: url }: Values): Finding {
  return url === undefined
    ? skip(
        'alerts',
        'EVENT_WEBHOOK_URL is not set: only the rules of Prometheus (deploy/prometheus/alerts.yml) report a hold, where they are used',
      )
    : ok('alerts', 'holds and other events are posted to EVENT_WEBHOOK_URL');
}

/** Warnings about what INSECURE_HOSTS allows and is in use, and where stored contacts are not encrypted. */
function plainText(values: Values): Finding[] {
  const { BASE_URL: url, PAYLOAD_KEY: key } = values;
  const host = url?.startsWith('http:') === true ? new URL(url).hostname : undefined;
  const hosts = plainRemoteHosts({ url: values.REDIS_URL, sentinels: values.REDIS_SENTINELS }, []);
  const rows: readonly (readonly [boolean, says: string, remedy: string])[] = [
    [
      host !== undefined && !isLoopbackHost(host),
      `BASE_URL uses plain http to ${host}: the key pair, the token and all phone numbers are sent unencrypted`,
      'use https; INSECURE_HOSTS is meant for the emulator',
    ],
    [
      hosts.length > 0,
      `Redis is reached without TLS at ${hosts.join(', ')}: its password, phone numbers and the content of messages are sent unencrypted`,
      'use rediss://; INSECURE_HOSTS is meant for networks that no other program can read',
    ],
    [
      key === undefined,
      'PAYLOAD_KEY is not set: phone numbers and the content of messages can be read in Redis and in its backups',
      'set PAYLOAD_KEY to the same 32 random bytes for producers, importers, workers and ops servers, such as the output of "openssl rand -base64 32"',
    ],
  ];
  return rows.flatMap(([isOn, says, remedy]) => (isOn ? [warn('config', says, remedy)] : []));
}

/**
 * Runs the checks in the order of {@link CHECKS}. Those that are left out because the signal aborts are
 * cancelled.
 *
 * @param report called with each finding as it is made
 */
export async function examine(
  config: Config,
  signal: AbortSignal,
  report: (finding: Finding) => void,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const add = (...found: readonly Finding[]) => {
    for (const finding of found) {
      findings.push(finding);
      report(finding);
    }
  };
  const checkAll = async (redis: RedisClient) => {
    add(ok('redis.connection', 'Redis answers'));
    add(...judgeRedisSnapshot(await readRedisSnapshot(redis), config.redisWatch));
    if (signal.aborted) return;
    const { service } = config;
    if (service === undefined) {
      const says = 'skipped: BASE_URL, ACCESS_KEY and SECRET_KEY are not set';
      add(skip('service.token', says), skip('service.address', says));
    } else add(...(await probeToken(redis, { ...config, service })));
    if (signal.aborted) return;
    add(...(await examineQueue(redis, config)));
  };
  const addRest = (left: (check: CheckName) => Finding) => {
    const seen = new Set(findings.map(({ check }) => check));
    const rest = CHECKS.filter(
      (check) => check !== 'config' && check !== 'alerts' && !seen.has(check),
    );
    add(...rest.map(left));
  };
  try {
    await withRedis(config.redis, TIMEOUT_MS, checkAll);
    if (signal.aborted) addRest(cancelled);
  } catch (error) {
    if (!(error instanceof NoticeQueueError)) throw error;
    const { code, message } = error;
    const { remedy } = ERROR_CODES[code];
    const says = message.replace(` ${remedy}`, '');
    add(
      fail('redis.connection', `${code}: ${says}`, 'check REDIS_URL, the network and Redis itself'),
    );
    addRest((check) => skip(check, 'skipped: Redis is unavailable'));
  }
  return findings;
}

async function examineQueue(redis: RedisClient, config: Config): Promise<Finding[]> {
  const keys = keysOf(config.redis.prefix, config.account);
  const status = await readStatus({ redis, keys }, config);
  const notices = await countSoonDeleted(redis, keys, config.worker.keepFailedMs);
  const { batches, stalled } = await readLists(new Ledger(redis, keys), status);
  const openBatches = [...status.batches.openBatches, ...stalled];
  return judgeQueue(
    { ...status, batches: { ...status.batches, openBatches } },
    { notices, batches },
  );
}

/** @param keepFailedMs KEEP_FAILED_MS */
async function countSoonDeleted(
  redis: RedisClient,
  keys: Keys,
  keepFailedMs: number,
): Promise<number> {
  const before = Date.now() - keepFailedMs + warningMs(keepFailedMs);
  const counts = await translated(
    Promise.all(
      FAILED_NOTICE_STATES.map((state) => redis.zcount(keys.endedIn(state), '-inf', before)),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** All lists: those that will be deleted soon, and those that are stalled, though the status lists only the newest. */
async function readLists(ledger: Ledger, status: Status) {
  const { now } = status;
  const listed = new Set(status.batches.openBatches.map(({ id }) => id));
  const batches: string[] = [];
  const stalled: Status['batches']['openBatches'][number][] = [];
  for await (const batch of ledger.all()) {
    const { id, phase, counts } = batch;
    if (nearEndOfRetention(batch, Date.now()) !== undefined) batches.push(id);
    if (listed.has(id) || !(await readMotion(ledger, batch, status, now)).stalled) continue;
    const { total, pending } = counts;
    stalled.push({ id, phase, total, pending, stalled: true });
  }
  return { batches, stalled };
}
