import type { InputIssue } from '../contracts/errors.ts';
import { isLoopback, isLoopbackHost } from './address.ts';
import type { Environment } from './environment.ts';
import { showValue } from './mask.ts';
import { optionOf, type OptionName, type Values } from './options.ts';

/** Something that several options must fulfil together. */
export interface Rule {
  /** The options it compares; an error stands at the first. */
  readonly names: readonly [OptionName, ...OptionName[]];
  /** What the first one must be or do, in words that name the others. */
  readonly says: string;
  /** Called only when every option it compares is right by itself. */
  readonly holds: (values: Values) => boolean;
}

/** An issuance may use at most this part of the lock's ttl. */
const LOCK_SHARE = 0.7;

export const RULES: readonly Rule[] = [
  rule(
    ['ISSUE_DEADLINE_MS', 'TOKEN_LOCK_TTL_MS'],
    `must be at most ${LOCK_SHARE} x TOKEN_LOCK_TTL_MS, so that no issuance outlives its lock`,
    (v) => v.ISSUE_DEADLINE_MS <= LOCK_SHARE * v.TOKEN_LOCK_TTL_MS,
  ),
  rule(
    ['ISSUE_DEADLINE_MS', 'SEND_DEADLINE_MS'],
    'must be at most SEND_DEADLINE_MS, since an attempt may wait for an issuance',
    (v) => v.ISSUE_DEADLINE_MS <= v.SEND_DEADLINE_MS,
  ),
  rule(
    ['SEND_DEADLINE_MS', 'CONNECT_TIMEOUT_MS', 'ANSWER_TIMEOUT_MS'],
    'must be at least CONNECT_TIMEOUT_MS + ANSWER_TIMEOUT_MS, so that one call fits into an attempt',
    (v) => v.SEND_DEADLINE_MS >= v.CONNECT_TIMEOUT_MS + v.ANSWER_TIMEOUT_MS,
  ),
  rule(
    ['SEND_DEADLINE_MS', 'LOCK_DURATION_MS'],
    'must be less than half of LOCK_DURATION_MS, so that no job is taken from a worker that is sending it',
    (v) => v.SEND_DEADLINE_MS < v.LOCK_DURATION_MS / 2,
  ),
  rule(
    ['SHUTDOWN_TIMEOUT_MS', 'SEND_DEADLINE_MS'],
    'must be more than SEND_DEADLINE_MS, so that a worker that stops can finish what it is sending',
    (v) => v.SHUTDOWN_TIMEOUT_MS > v.SEND_DEADLINE_MS,
  ),
  rule(
    ['STALLED_INTERVAL_MS', 'LOCK_DURATION_MS'],
    'must be at most LOCK_DURATION_MS',
    (v) => v.STALLED_INTERVAL_MS <= v.LOCK_DURATION_MS,
  ),
  rule(
    ['HOLD_PROBE_MIN_MS', 'HOLD_PROBE_MAX_MS'],
    'must be at most HOLD_PROBE_MAX_MS',
    (v) => v.HOLD_PROBE_MIN_MS <= v.HOLD_PROBE_MAX_MS,
  ),
  rule(
    ['PACE_FLOOR', 'PACE'],
    'must be at most PACE, unless that is 0',
    (v) => v.PACE === 0 || v.PACE_FLOOR <= v.PACE,
  ),
  rule(
    ['BACKOFF_BASE_MS', 'BACKOFF_CAP_MS'],
    'must be at most BACKOFF_CAP_MS',
    (v) => v.BACKOFF_BASE_MS <= v.BACKOFF_CAP_MS,
  ),
  rule(
    ['TOKEN_REFUSED_MIN_MS', 'TOKEN_REFUSED_MAX_MS'],
    'must be at most TOKEN_REFUSED_MAX_MS',
    (v) => v.TOKEN_REFUSED_MIN_MS <= v.TOKEN_REFUSED_MAX_MS,
  ),
  rule(
    ['TOKEN_GRACE_MS', 'TOKEN_MIN_AGE_MS'],
    'must be at most TOKEN_MIN_AGE_MS',
    (v) => v.TOKEN_GRACE_MS <= v.TOKEN_MIN_AGE_MS,
  ),
  rule(
    ['BASE_URL', 'INSECURE_HTTP_HOST'],
    'must begin with https:// unless it is an address of this machine or its host is INSECURE_HTTP_HOST',
    (v) =>
      v.BASE_URL === undefined ||
      v.BASE_URL.startsWith('https:') ||
      isLoopback(v.BASE_URL) ||
      new URL(v.BASE_URL).hostname === v.INSECURE_HTTP_HOST?.toLowerCase(),
  ),
  rule(
    ['REDIS_SENTINELS', 'REDIS_SENTINEL_NAME'],
    'and REDIS_SENTINEL_NAME must be set together or not at all',
    (v) => v.REDIS_SENTINELS.length > 0 === (v.REDIS_SENTINEL_NAME !== undefined),
  ),
  rule(
    ['REDIS_SENTINELS', 'REDIS_CLUSTER'],
    'must not be set together with REDIS_CLUSTER',
    (v) => v.REDIS_SENTINELS.length === 0 || v.REDIS_CLUSTER.length === 0,
  ),
  rule(
    ['REDIS_URL', 'REDIS_CLUSTER'],
    'must not name a database other than 0 beside REDIS_CLUSTER, which has no other',
    (v) => v.REDIS_CLUSTER.length === 0 || /^\/?0*$/.test(new URL(v.REDIS_URL).pathname),
  ),
  rule(
    ['OPS_HOST', 'OPS_USERS', 'OPS_API_KEYS', 'OPS_USER_HEADER'],
    'must be an address of this machine only, such as 127.0.0.1, unless OPS_USERS, OPS_API_KEYS or OPS_USER_HEADER says who may come in',
    (v) =>
      isLoopbackHost(v.OPS_HOST) ||
      [v.OPS_USERS, v.OPS_API_KEYS, v.OPS_USER_HEADER].some((set) => set !== undefined),
  ),
  rule(
    ['OPS_USER_HEADER', 'OPS_TRUSTED_PROXY'],
    'must not be set without OPS_TRUSTED_PROXY, the address from which it is believed',
    (v) => v.OPS_USER_HEADER === undefined || v.OPS_TRUSTED_PROXY !== undefined,
  ),
  rule(
    ['OPS_ROLE_HEADER', 'OPS_USER_HEADER'],
    'must not be set without OPS_USER_HEADER',
    (v) => v.OPS_ROLE_HEADER === undefined || v.OPS_USER_HEADER !== undefined,
  ),
  rule(
    ['REDIS_URL', 'REDIS_TLS_CA_FILE'],
    'must begin with rediss:// beside REDIS_TLS_CA_FILE, which would not be used otherwise',
    (v) => v.REDIS_TLS_CA_FILE === undefined || v.REDIS_URL.startsWith('rediss:'),
  ),
  rule(
    ['ALERT_WEBHOOK_URL', 'ALERT_WEBHOOK_SECRET'],
    'must come with ALERT_WEBHOOK_SECRET, which signs what is posted to it',
    (v) => v.ALERT_WEBHOOK_URL === undefined || v.ALERT_WEBHOOK_SECRET !== undefined,
  ),
  rule(
    ['ALERT_WEBHOOK_URL'],
    'must be an address that begins with https:// unless it is of this machine',
    ({ ALERT_WEBHOOK_URL: url }) =>
      url === undefined || (URL.canParse(url) && (url.startsWith('https:') || isLoopback(url))),
  ),
];

/** Rules on variables of the runtime, which are no options of ours. */
export const ENVIRONMENT_RULES: readonly {
  readonly name: string;
  readonly says: string;
  readonly holds: (environment: Environment) => boolean;
}[] = [
  {
    name: 'NODE_TLS_REJECT_UNAUTHORIZED',
    says: 'must not be 0, which accepts any certificate from anybody; for a private authority set TLS_CA_FILE or REDIS_TLS_CA_FILE instead',
    holds: (environment) => environment['NODE_TLS_REJECT_UNAUTHORIZED']?.trim() !== '0',
  },
];

/**
 * What breaks a rule.
 *
 * @param values of all options that are right by themselves
 * @param wrong names of the others; a rule about one of these says nothing
 */
export function brokenRules(
  values: Values,
  wrong: ReadonlySet<OptionName>,
  environment: Environment,
): InputIssue[] {
  const broken = RULES.filter(
    ({ names, holds }) => !names.some((name) => wrong.has(name)) && !holds(values),
  ).map(({ names, says }) => ({
    field: names[0],
    problem: `${says} (${names.map((name) => `${name} is ${showFor(values, name)}`).join(', ')})`,
  }));
  const insecure = ENVIRONMENT_RULES.filter(({ holds }) => !holds(environment)).map(
    ({ name, says }) => ({ field: name, problem: says }),
  );
  return [...broken, ...insecure];
}

function showFor(values: Values, name: OptionName): string {
  const option = optionOf(name);
  if (option.kind === 'file') return values[name] === undefined ? 'not set' : 'set';
  return showValue(option, values[name]);
}

/** Binds `holds` to the options it names, so that a rule cannot read what it does not name. */
function rule<N extends OptionName>(
  names: readonly [N, ...N[]],
  says: string,
  holds: (values: Pick<Values, N>) => boolean,
): Rule {
  return { names, says, holds };
}
