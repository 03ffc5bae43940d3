import { isIPv4, isIPv6 } from 'node:net';

/** A network address. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, with brackets around an IPv6 host. */
export function formatAddress({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Whether it is a loopback host; an IPv6 address with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  const hostname = withoutBrackets(host);
  return hostname === 'localhost' || hostname === '::1' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/**
 * Whether a host may be reached without TLS.
 *
 * @param allowed hosts other than this machine, for which the risk is accepted
 */
export function mayBePlain(host: string, allowed: readonly string[]): boolean {
  const hostname = withoutBrackets(host);
  return isLoopbackHost(host) || allowed.some((name) => withoutBrackets(name) === hostname);
}

const withoutBrackets = (host: string) => host.toLowerCase().replace(/^\[|\]$/g, '');

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
