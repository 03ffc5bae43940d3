import { randomBytes, timingSafeEqual } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { isLoopbackHost } from '../../../config/address.ts';
import type { OpsConfig } from '../../../config/config.ts';
import { InputError } from '../../../contracts/errors.ts';
import {
  checkPassword,
  findApiKey,
  readApiKeys,
  readUsers,
  type ApiKey,
  type User,
} from './accounts.ts';
import { hashPassword, readPasswordHash } from './password.ts';
import { proxyIdentity } from './identity.ts';
import type { Identity } from './identity.ts';
import { Sessions } from './sessions.ts';

/** What of a request tells who calls. */
export interface SentCredentials {
  /** Of the socket, whatever a header says. */
  readonly remoteAddress: string | undefined;
  readonly authorization: string | undefined;
  /** Value of the session's cookie. */
  readonly cookie: string | undefined;
  readonly header: (name: string) => string | undefined;
}

/** How the one user comes in whom a server on this machine makes up when nobody is configured. */
export interface Invitation {
  readonly user: string;
  readonly password: string;
  /** Good for one sign-in by link. */
  readonly linkKey: string;
}

/** A key counts as long as it is configured; so does what a proxy says in this request. */
const FOR_EVER = Number.MAX_SAFE_INTEGER;

/**
 * Who may come in. Three ways, the first that is tried decides: an API key in the request; else what
 * the trusted proxy says; else the cookie of a session.
 */
export class Access {
  readonly sessions: Sessions;
  readonly #users: ReadonlyMap<string, User>;
  readonly #keys: readonly ApiKey[];
  readonly #proxies: BlockList;
  readonly #userHeader: string | undefined;
  readonly #roleHeader: string | undefined;
  #linkKey: Buffer | undefined;

  /** @throws InputError CONFIG_INVALID */
  constructor(config: OpsConfig, invited?: { readonly user: User; readonly linkKey: string }) {
    const users = new Map(readUsers(config.users));
    if (invited !== undefined) {
      users.set(invited.user.name, invited.user);
      this.#linkKey = Buffer.from(invited.linkKey);
    }
    this.#users = users;
    this.#keys = readApiKeys(config.apiKeys);
    this.#proxies = readProxies(config.trustedProxy);
    this.#userHeader = config.userHeader;
    this.#roleHeader = config.roleHeader;
    this.sessions = new Sessions(users, config.sessionMs, config.sessionKey);
  }

  /** Who calls; undefined where nothing, or nothing that counts, says so. */
  identify(shown: SentCredentials, now: number): Identity | undefined {
    // Another scheme is between the visitor and his proxy, which may pass it on.
    if (isBearer(shown.authorization)) return this.#byKey(shown.authorization);
    const byProxy = this.#byProxy(shown);
    if (byProxy !== undefined) return byProxy;
    if (shown.cookie === undefined) return undefined;
    const session = this.sessions.read(shown.cookie, now);
    if (session === undefined) return undefined;
    const { id, until, user } = session;
    return { name: user.name, role: user.role, by: 'session', until, seed: id };
  }

  /** Whether the caller's X-Forwarded headers are believed. */
  isTrustedProxy(address: string): boolean {
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
    const family = isIP(plain);
    return family !== 0 && this.#proxies.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  }

  /** @returns the user, where the name is known and the password right */
  signIn(name: string, password: string): Promise<User | undefined> {
    return checkPassword(this.#users, name, password);
  }

  /** Whether anybody could sign in with a password. */
  get hasUsers(): boolean {
    return this.#users.size > 0;
  }

  /** @returns the invited user, once */
  redeem(linkKey: string): User | undefined {
    const [kept, shown] = [this.#linkKey, Buffer.from(linkKey)];
    if (kept === undefined || kept.length !== shown.length || !timingSafeEqual(kept, shown)) {
      return undefined;
    }
    this.#linkKey = undefined;
    return this.#users.get(INVITED);
  }

  #byKey(authorization: string): Identity | undefined {
    const key = /^Bearer +(\S{1,512})$/i.exec(authorization)?.[1];
    const found = key === undefined ? undefined : findApiKey(this.#keys, key);
    if (found === undefined) return undefined;
    const { name, role } = found;
    return { name: `key:${name}`, role, by: 'key', until: FOR_EVER, seed: '' };
  }

  #byProxy({ remoteAddress, header }: SentCredentials): Identity | undefined {
    if (this.#userHeader === undefined || remoteAddress === undefined) return undefined;
    if (!this.isTrustedProxy(remoteAddress)) return undefined;
    const roles = this.#roleHeader === undefined ? undefined : header(this.#roleHeader);
    return proxyIdentity({ user: header(this.#userHeader), roles }, FOR_EVER);
  }
}

function isBearer(authorization: string | undefined): authorization is string {
  return authorization !== undefined && /^Bearer\b/i.test(authorization);
}

/** Name of the user that is made up. */
const INVITED = 'operator';

/**
 * Reads who may come in. Where no person could, and nobody beyond this machine can connect, an operator
 * is made up with a password that nobody has chosen: what a newcomer meets on a machine of his own.
 *
 * @throws InputError CONFIG_INVALID
 */
export async function openAccess(
  config: OpsConfig,
): Promise<{ readonly access: Access; readonly invitation: Invitation | undefined }> {
  const { users, userHeader, host } = config;
  if (users !== undefined || userHeader !== undefined || !isLoopbackHost(host)) {
    return { access: new Access(config), invitation: undefined };
  }
  const password = randomBytes(15).toString('base64url');
  const linkKey = randomBytes(24).toString('base64url');
  const hash = readPasswordHash(await hashPassword(password));
  if (hash === undefined) throw new TypeError('a hash of our own cannot be read');
  const user: User = { name: INVITED, role: 'operator', password: hash };
  return {
    access: new Access(config, { user, linkKey }),
    invitation: { user: INVITED, password, linkKey },
  };
}

function readProxies(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of addresses) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address);
    if (family === 0) {
      const problem = 'expected IP addresses or subnets such as 10.0.0.0/8, separated by commas';
      throw new InputError('CONFIG_INVALID', [{ field: 'OPS_TRUSTED_PROXY', problem }]);
    }
    const type = family === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, type);
    else list.addSubnet(address, Number(bits), type);
  }
  return list;
}
