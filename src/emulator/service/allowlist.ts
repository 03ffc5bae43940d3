import { BlockList, isIP } from 'node:net';

/** The addresses from which an app may call. */
export interface Allowlist {
  /** The entry as given. */
  readonly entries: readonly string[];
  allows(address: string): boolean;
}

type Family = 'ipv4' | 'ipv6';

/**
 * Parses an allowlist. An empty one allows any address (service-api, Authentication rule 6). The
 * format of the service is not documented; here an entry is an IP address or a network such as `10.0.0.0/8`.
 *
 * @throws TypeError when an entry is neither
 */
export function allowlistOf(entries: readonly string[]): Allowlist {
  const list = new BlockList();
  for (const entry of entries) addEntry(list, entry);
  return {
    entries,
    allows(address) {
      if (entries.length === 0) return true;
      const plain = withoutMapping(address);
      const family = familyOf(plain);
      return family !== undefined && list.check(plain, family);
    },
  };
}

function addEntry(list: BlockList, entry: string): void {
  const [address = '', prefix, ...rest] = entry.split('/');
  const family = familyOf(address);
  const bits = family === 'ipv6' ? 128 : 32;
  if (family !== undefined && rest.length === 0) {
    if (prefix === undefined) {
      list.addAddress(address, family);
      return;
    }
    if (/^[0-9]{1,3}$/.test(prefix) && Number(prefix) <= bits) {
      list.addSubnet(address, Number(prefix), family);
      return;
    }
  }
  throw new TypeError(
    `allowlist: expected an IP address or a network such as 10.0.0.0/8, got "${entry}"`,
  );
}

function familyOf(address: string): Family | undefined {
  const version = isIP(address);
  if (version === 4) return 'ipv4';
  return version === 6 ? 'ipv6' : undefined;
}

/** A server that listens on IPv6 sees IPv4 callers as `::ffff:10.0.0.1`. */
function withoutMapping(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
