import { isLoopbackHost, mayBePlain, type Address } from '../format/plain-hosts.ts';

/** Which URLs a variable accepts. None may have a query or a fragment. */
export interface UrlRules {
  /** With their colons. */
  readonly protocols: readonly string[];
  /** Whether a user name and a password are allowed. The password is then never shown. */
  readonly userinfo: boolean;
  /** What may follow the host: any path, none, or the number of a Redis database. */
  readonly path: 'any' | 'none' | 'database';
}

/**
 * Parses a URL.
 *
 * @returns the URL in one spelling, without slashes at its end; undefined when the rules reject it.
 *   One spelling matters: the key of the shared token is a hash that includes BASE_URL.
 */
export function parseUrl(text: string, rules: UrlRules): string | undefined {
  if (!/^[a-z]+:\/\/[^\s\\]+$/i.test(text) || /[?#]/.test(text) || !URL.canParse(text)) {
    return undefined;
  }
  const url = new URL(text);
  const allowed =
    rules.protocols.includes(url.protocol) &&
    url.hostname !== '' &&
    (rules.userinfo || url.username + url.password === '') &&
    decodes(url.username) &&
    decodes(url.password) &&
    PATHS[rules.path].test(url.pathname);
  return allowed ? url.href.replace(/\/+$/, '') : undefined;
}

const PATHS: Readonly<Record<UrlRules['path'], RegExp>> = {
  any: /^/,
  none: /^\/?$/,
  database: /^(?:\/\d{0,5})?$/,
};

function decodes(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether requests to this URL stay on this machine. */
export function isLoopback(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}

/** Whether requests to this URL cannot be read or changed on a network: https, or of this machine. */
export function isPrivate(url: string): boolean {
  return URL.canParse(url) && (url.startsWith('https:') || isLoopback(url));
}

/**
 * The hosts that would be reached without TLS although they are neither of this machine nor named in
 * `allowed`; none where the URL demands TLS.
 */
export function plainRemoteHosts(
  { url, sentinels }: { readonly url: string; readonly sentinels: readonly Address[] },
  allowed: readonly string[],
): string[] {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'rediss:') return [];
  const nodes = sentinels.map(({ host }) => host);
  const hosts = nodes.length > 0 ? nodes : [hostname];
  return hosts.filter((host) => !mayBePlain(host, allowed));
}

/** Parses `host:port`. An IPv6 host is written in brackets and returned without them. @param least the lowest port */
export function parseAddress(text: string, least = 1): Address | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+)):(\d{1,5})$/i.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || !(port >= least && port <= 65_535) ? undefined : { host, port };
}

/** This machine alone. */
export const LOOPBACK = '127.0.0.1';

/** Parses where a server listens: a port alone, of this machine, or `host:port`. Port 0 is allowed. */
export function parseListenAddress(text: string): Address | undefined {
  return parseAddress(/^\d+$/.test(text) ? `${LOOPBACK}:${text}` : text, 0);
}
