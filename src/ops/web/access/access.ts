import { randomBytes, timingSafeEqual } from 'node:crypto';
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
import { proxyIdentity } from './identity.ts';
import type { Identity } from './identity.ts';
import { OidcProvider } from '../oidc/provider.ts';
import { Sessions } from './sessions.ts';
import { SignInLimits } from './sign-in-limits.ts';
import { SignInRefusals } from './sign-in-refusals.ts';

/** What identifies the caller of a request. */
export interface SentCredentials {
  /** Address of the socket; headers are not considered. */
  readonly remoteAddress: string | undefined;
  readonly authorization: string | undefined;
  /** Value of the session cookie. */
  readonly cookie: string | undefined;
  readonly header: (name: string) => string | undefined;
}

/** Credentials of the operator that is created at the start when no users are configured. */
export interface Invitation {
  readonly user: string;
  readonly password: string;
  /** Key of a sign-in link; valid once. */
  readonly linkKey: string;
}

/** End of identities that have none: API keys, and what a proxy states for one request. */
const NO_END = Number.MAX_SAFE_INTEGER;

/**
 * Identifies callers. There are three ways, and the first that the request uses decides: an API key,
 * the headers of the trusted proxy, the session cookie.
 */
export class Access {
  readonly sessions: Sessions;
  /** What the log states of refused sign-ins. */
  readonly signInRefusals = new SignInRefusals();
  /** The provider of OpenID Connect; undefined where none is configured. */
  readonly provider: OidcProvider | undefined;
  readonly #users: ReadonlyMap<string, User>;
  readonly #keys: readonly ApiKey[];
  readonly #proxies: BlockList;
  readonly #userHeader: string | undefined;
  readonly #roleHeader: string | undefined;
  readonly #limits = new SignInLimits();
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
    const { oidc, sessionMs, sessionKey } = config;
    this.provider = oidc && new OidcProvider(oidc);
    this.sessions = new Sessions(users, sessionMs, sessionKey, this.provider?.settings);
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
    const { id, until, user } = session;
    return { name: user.name, role: user.role, by: 'session', until, seed: id };
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

  /**
   * Counts a sign-in through the provider.
   *
   * @param account name of the account at the provider
   * @throws TooManyRequests where it was refused too often from this network
   */
  countProviderSignIn(account: string, network: string, now: number, isAllowed: boolean): void {
    // No user of OPS_USERS has a colon in the name.
    this.#limits.count(`oidc:${account}`, network, now, isAllowed);
  }

  /** Names of the API keys of senders. */
  get senders(): ReadonlySet<string> {
    return new Set(this.#keys.filter(({ role }) => role === 'sender').map(({ name }) => name));
  }

  /** Whether a user can sign in with a password. */
  get hasUsers(): boolean {
    return this.#users.size > 0;
  }

  /** @returns the invited user, for the first call with the right key only */
  redeem(linkKey: string): User | undefined {
    const [kept, given] = [this.#linkKey, Buffer.from(linkKey)];
    if (kept === undefined || kept.length !== given.length || !timingSafeEqual(kept, given)) {
      return undefined;
    }
    this.#linkKey = undefined;
    return this.#users.get(INVITED);
  }

  #byKey(authorization: string, now: number): Identity | undefined {
    const key = /^Bearer +(\S{1,512})$/i.exec(authorization)?.[1];
    const found = key === undefined ? undefined : findApiKey(this.#keys, key, now);
    if (found === undefined) return undefined;
    const { id: keyId, name, role, until } = found;
    const end = Math.min(until, NO_END);
    return { name: `key:${name}`, role, by: 'key', until: end, seed: '', keyId };
  }

  #byProxy({ remoteAddress, header }: SentCredentials): Identity | undefined {
    if (this.#userHeader === undefined || remoteAddress === undefined) return undefined;
    if (!this.isTrustedProxy(remoteAddress)) return undefined;
    const roles = this.#roleHeader === undefined ? undefined : header(this.#roleHeader);
    return proxyIdentity({ user: header(this.#userHeader), roles }, NO_END);
  }
}

function isBearer(authorization: string | undefined): authorization is string {
  return authorization !== undefined && /^Bearer\b/i.test(authorization);
}

/** Name of the user that is created at the start. */
const INVITED = 'operator';

/**
 * Reads users, API keys and proxies. Where no person could sign in and the server is reachable from
 * this machine only, an operator with a random password is created, so that no configuration is needed.
 *
 * @throws InputError CONFIG_INVALID
 */
export async function openAccess(
  config: OpsConfig,
): Promise<{ readonly access: Access; readonly invitation: Invitation | undefined }> {
  const { users, userHeader, oidc, host } = config;
  const hasPeople = [users, userHeader, oidc].some((set) => set !== undefined);
  if (hasPeople || !isLoopbackHost(host)) {
    return { access: new Access(config), invitation: undefined };
  }
  const password = randomBytes(15).toString('base64url');
  const linkKey = randomBytes(24).toString('base64url');
  const hash = readPasswordHash(await hashPassword(password));
  if (hash === undefined) throw new TypeError('cannot read the hash that was just made');
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
