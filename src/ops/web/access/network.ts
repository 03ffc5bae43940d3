import { isIPv4, isIPv6 } from 'node:net';

/** Groups of an IPv6 address that name its network: a caller has all addresses of a /64. */
const NETWORK_GROUPS = 4;

/** What callers are counted by: an IPv4 address, or the /64 network of an IPv6 address. */
export function networkOf(address: string): string {
  const plain = address
    .toLowerCase()
    // Some proxies add the port: each connection would count as another caller.
    .replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1')
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=\d+\.)/, '');
  if (isIPv4(plain) || !isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const [first, last] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const all = [...first, ...Array<string>(zeros).fill('0'), ...last];
  const named = all
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16));
  return `${named.join(':')}::/64`;
}

/** Whether a `Host` is one that a request may name. */
export type HostRule = (host: string) => boolean;

/**
 * Which names of this server are accepted, so that a page of another site cannot reach it under a name of
 * its own (DNS rebinding). IP addresses and `localhost` always are.
 *
 * | OPS_HOST_NAMES | listens on | trusted proxy | other names |
 * |---|---|---|---|
 * | set | any | any | those of the list |
 * | not set | this machine only | none | none |
 * | not set | this machine only | configured | any: the proxy decides |
 * | not set | other addresses | any | any: callers must sign in under each name |
 */
export function hostRule(names: readonly string[], isLocal: boolean, hasProxy: boolean): HostRule {
  const any = names.length === 0 && (!isLocal || hasProxy);
  const allowed = new Set(names.map((name) => name.toLowerCase()));
  return (host) => {
    const name = host.toLowerCase().replace(/:\d{1,5}$/, '');
    const address = name.replace(/^\[(.*)\]$/, '$1');
    return any || name === 'localhost' || isIPv4(name) || isIPv6(address) || allowed.has(name);
  };
}
