import type { InputIssue } from '../contracts/errors.ts';
import { isLoopbackHost } from '../format/plain-hosts.ts';
import { isLoopback, isPrivate, plainRemoteHosts } from './address.ts';
import type { Environment } from './environment.ts';
import { showValue } from './mask.ts';
import { rowOf, type Values, type VariableName } from './variables.ts';

export interface Rule {
  /** The variables it compares; an error names the first. */
  readonly names: readonly [VariableName, ...VariableName[]];
  /** What the first one must be, in words that name the others. */
  readonly requirement: string;
  /** Called only when every variable it compares is valid by itself. */
  readonly holds: (values: Values) => boolean;
}

const isHostOf = (host: string, url: string) =>
  URL.canParse(`http://${host}`) && new URL(`http://${host}`).hostname === new URL(url).hostname;

export const RULES: readonly Rule[] = [
  rule(
    ['BASE_URL', 'INSECURE_HOSTS', 'PROXY_URL'],
    'must start with https:// unless it is a URL of this machine, without a PROXY_URL of another one, or its host is one of INSECURE_HOSTS',
    (v) =>
      v.BASE_URL === undefined ||
      v.BASE_URL.startsWith('https:') ||
      // Behind a proxy it is a URL of the machine of the proxy.
      [v.BASE_URL, v.PROXY_URL ?? v.BASE_URL].every(isLoopback) ||
      v.INSECURE_HOSTS.some((host) => isHostOf(host, v.BASE_URL ?? '')),
  ),
  rule(
    ['REDIS_URL', 'REDIS_SENTINELS', 'INSECURE_HOSTS'],
    'must start with rediss:// (TLS) unless every host is this machine or one of INSECURE_HOSTS',
    (v) =>
      plainRemoteHosts({ url: v.REDIS_URL, sentinels: v.REDIS_SENTINELS }, v.INSECURE_HOSTS)
        .length === 0,
  ),
  rule(
    ['REDIS_SENTINELS', 'REDIS_SENTINEL_NAME'],
    'and REDIS_SENTINEL_NAME must be set together or not at all',
    (v) => v.REDIS_SENTINELS.length > 0 === (v.REDIS_SENTINEL_NAME !== undefined),
  ),
  rule(
    ['OPS_ADDRESS', 'OPS_USERS', 'OPS_API_KEYS', 'OPS_USER_HEADER'],
    'must be an address of this machine only, such as 127.0.0.1, unless OPS_USERS, OPS_API_KEYS or OPS_USER_HEADER restricts access',
    (v) =>
      isLoopbackHost(v.OPS_ADDRESS.host) ||
      [v.OPS_USERS, v.OPS_API_KEYS, v.OPS_USER_HEADER].some((set) => set !== undefined),
  ),
  rule(
    ['OPS_USER_HEADER', 'OPS_TRUSTED_PROXY'],
    'must not be set without OPS_TRUSTED_PROXY, the only address it is trusted from',
    (v) => v.OPS_USER_HEADER === undefined || v.OPS_TRUSTED_PROXY !== undefined,
  ),
  rule(
    ['OPS_ROLE_HEADER', 'OPS_USER_HEADER'],
    'must not be set without OPS_USER_HEADER',
    (v) => v.OPS_ROLE_HEADER === undefined || v.OPS_USER_HEADER !== undefined,
  ),
  rule(
    ['REDIS_URL', 'REDIS_TLS_CA_FILE'],
    'must start with rediss:// with REDIS_TLS_CA_FILE, which would not be used otherwise',
    (v) => v.REDIS_TLS_CA_FILE === undefined || v.REDIS_URL.startsWith('rediss:'),
  ),
  rule(
    ['EVENT_WEBHOOK_URL', 'EVENT_WEBHOOK_SECRET'],
    'must be set together with EVENT_WEBHOOK_SECRET, which signs the events',
    (v) => v.EVENT_WEBHOOK_URL === undefined || v.EVENT_WEBHOOK_SECRET !== undefined,
  ),
  rule(
    ['EVENT_WEBHOOK_URL'],
    'must be a URL that starts with https:// unless it is of this machine',
    (v) => v.EVENT_WEBHOOK_URL === undefined || isPrivate(v.EVENT_WEBHOOK_URL),
  ),
];

/** A variable of Node.js itself. */
export const TLS_RULE = {
  name: 'NODE_TLS_REJECT_UNAUTHORIZED',
  requirement:
    'must not be 0, which accepts any certificate; for a private authority set TLS_CA_FILE or REDIS_TLS_CA_FILE instead',
};

/**
 * Checks every rule.
 *
 * @param values of all variables that are valid by themselves
 * @param unchecked names of the others, and of what the program does not need; rules about one of them are skipped
 */
export function brokenRules(
  values: Values,
  unchecked: ReadonlySet<VariableName>,
  environment: Environment,
): InputIssue[] {
  const broken = RULES.filter(
    ({ names, holds }) => !names.some((name) => unchecked.has(name)) && !holds(values),
  ).map(({ names, requirement }) => ({
    field: names[0],
    problem: `${requirement} (${names.map((name) => `${name} is ${showValue(rowOf(name), values[name])}`).join(', ')})`,
  }));
  return [...broken, ...environmentIssues(environment)];
}

/** Whether Node.js is to accept any certificate. */
export function environmentIssues(environment: Environment): InputIssue[] {
  const isSafe = environment[TLS_RULE.name]?.trim() !== '0';
  return isSafe ? [] : [{ field: TLS_RULE.name, problem: TLS_RULE.requirement }];
}

/** Restricts `holds` to the variables in `names`, so that a rule cannot read others. */
function rule<N extends VariableName>(
  names: readonly [N, ...N[]],
  requirement: string,
  holds: (values: Pick<Values, N>) => boolean,
): Rule {
  return { names, requirement, holds };
}
