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
