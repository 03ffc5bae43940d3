import { randomBytes } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { isLoopbackHost } from '../../../format/plain-hosts.ts';
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
import { proxyIdentity, type Identity } from './identity.ts';
import { Sessions } from './sessions.ts';
import { SignInLimits } from './sign-in-limits.ts';

/** What identifies the caller of a request. */
export interface SentCredentials {
  /** Address of the socket; headers are not considered. */
  readonly remoteAddress: string | undefined;
  readonly authorization: string | undefined;
  /** Value of the session cookie. */
  readonly cookie: string | undefined;
  readonly header: (name: string) => string | undefined;
}

/** The operator that is created at the start when no users are configured. */
export interface FirstSignIn {
  readonly user: string;
  readonly password: string;
}

/** End of identities that have none: API keys, and what a proxy states for one request. */
const NO_END = Number.MAX_SAFE_INTEGER;

/**
 * Identifies callers. There are three ways, and the first that the request uses decides: an API key,
 * the headers of the trusted proxy, the session cookie.
 */
export class Access {
  readonly sessions: Sessions;
  readonly #users: ReadonlyMap<string, User>;
  readonly #keys: readonly ApiKey[];
  readonly #proxies: BlockList;
  readonly #userHeader: string | undefined;
  readonly #roleHeader: string | undefined;
  readonly #limits = new SignInLimits();

  /** @throws InputError CONFIG_INVALID */
  constructor(config: OpsConfig, first?: User) {
    const users = new Map(readUsers(config.users));
    if (first !== undefined) users.set(first.name, first);
    this.#users = users;
    this.#keys = readApiKeys(config.apiKeys);
    this.#proxies = readProxies(config.trustedProxy);
    this.#userHeader = config.userHeader;
    this.#roleHeader = config.roleHeader;
    this.sessions = new Sessions(users, config.sessionMs, config.sessionKey);
  }

  /** @returns the caller; undefined where the request has no valid credentials */
  identify(sent: SentCredentials, now: number): Identity | undefined {
    // Other schemes are between the visitor and the proxy, which may forward the header.
    if (isBearer(sent.authorization)) return this.#byKey(sent.authorization, now);
    const byProxy = this.#byProxy(sent);
    if (byProxy !== undefined) return byProxy;
    if (sent.cookie === undefined) return undefined;
    const session = this.sessions.read(sent.cookie, now);
    if (session === undefined) return undefined;
    const { id, since, until, user } = session;
    return { name: user.name, role: user.role, by: 'session', since, until, seed: id };
  }

  /** Whether the X-Forwarded headers of a caller with this address are trusted. */
  isTrustedProxy(address: string): boolean {
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
    const family = isIP(plain);
    return family !== 0 && this.#proxies.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  }

  /**
   * @param network of the caller
   * @returns the user; undefined where name or password is wrong
   * @throws TooManyRequests
   */
  async signIn(
    name: string,
    password: string,
    network: string,
    now: number,
  ): Promise<User | undefined> {
    let user: User | undefined;
    await this.#limits.check(name, network, now, async () => {
      user = await checkPassword(this.#users, name, password);
      return user !== undefined;
    });
    return user;
  }

  /** Names of the API keys of senders. */
  get senders(): ReadonlySet<string> {
    return new Set(this.#keys.filter(({ role }) => role === 'sender').map(({ name }) => name));
  }

  #byKey(authorization: string, now: number): Identity | undefined {
    const key = /^Bearer +(\S{1,512})$/i.exec(authorization)?.[1];
    const found = key === undefined ? undefined : findApiKey(this.#keys, key, now);
    if (found === undefined) return undefined;
    const until = Math.min(found.until, NO_END);
    return { name: `key:${found.name}`, role: found.role, by: 'key', until, seed: '' };
  }

  #byProxy({ remoteAddress, header }: SentCredentials): Identity | undefined {
    if (this.#userHeader === undefined || remoteAddress === undefined) return undefined;
    if (!this.isTrustedProxy(remoteAddress)) return undefined;
    const roles = this.#roleHeader === undefined ? undefined : header(this.#roleHeader);
    return proxyIdentity(header(this.#userHeader), roles, NO_END);
  }
}

function isBearer(authorization: string | undefined): authorization is string {
  return authorization !== undefined && /^Bearer\b/i.test(authorization);
}

/**
 * Reads users, API keys and proxies. Where no person could sign in and the server is reachable from
 * this machine only, an operator with a random password is created, so that no configuration is needed.
 *
 * @throws InputError CONFIG_INVALID
 */
export async function openAccess(
  config: OpsConfig,
): Promise<{ readonly access: Access; readonly firstSignIn: FirstSignIn | undefined }> {
  const hasPeople = config.users !== undefined || config.userHeader !== undefined;
  if (hasPeople || !isLoopbackHost(config.host)) {
    return { access: new Access(config), firstSignIn: undefined };
  }
  const firstSignIn = { user: 'operator', password: randomBytes(15).toString('base64url') };
  const password = readPasswordHash(await hashPassword(firstSignIn.password));
  if (password === undefined) throw new TypeError('cannot read the hash that was just made');
  const access = new Access(config, { name: firstSignIn.user, role: 'operator', password });
  return { access, firstSignIn };
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
