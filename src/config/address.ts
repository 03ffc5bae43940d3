import type { Address, UrlOption } from './option.ts';

/**
 * Reads an address as its row allows it.
 *
 * @returns the address in one spelling, without slashes at its end; undefined when the row does
 *   not allow it. One spelling matters: the name of a token slot is a hash that includes BASE_URL.
 */
export function parseUrl(text: string, option: UrlOption): string | undefined {
  if (!/^[a-z]+:\/\/[^\s\\]+$/i.test(text) || /[?#]/.test(text) || !URL.canParse(text)) {
    return undefined;
  }
  const url = new URL(text);
  const allowed =
    option.protocols.includes(url.protocol) &&
    url.hostname !== '' &&
    (option.userinfo || url.username + url.password === '') &&
    decodes(url.username) &&
    decodes(url.password) &&
    PATHS[option.path].test(url.pathname);
  return allowed ? url.href.replace(/\/+$/, '') : undefined;
}

const PATHS: Readonly<Record<UrlOption['path'], RegExp>> = {
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

/** Whether what is sent to this address stays on this machine. */
export function isLoopback(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}

/** Whether it is this machine and nobody else can reach it; an IPv6 address with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  const hostname = host.toLowerCase().replace(/^::1$/, '[::1]');
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** Reads `host:port`; an IPv6 host stands in brackets and comes out without them. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+)):(\d{1,5})$/i.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || !isPort(port) ? undefined : { host, port };
}

/** Whether it is the number of a TCP port. */
export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

/** The address as {@link parseAddress} reads it. */
export function formatAddress({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
