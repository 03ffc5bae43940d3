import { randomBytes } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { isLoopbackHost } from '../../../format/plain-hosts.ts';
import type { OpsConfig } from '../../../config/config.ts';
import { InputError } from '../../../contracts/errors.ts';
import {
  checkPassword,
  findApiKey,
  hashPassword,
  readApiKeys,
  readUsers,
  type ApiKey,
  type User,
} from './accounts.ts';
import { proxyIdentity, type Identity } from './identity.ts';
import { cookieName, Sessions } from './sessions.ts';
import { SignInLimits } from './sign-in-limits.ts';

/** The operator that is created at the start when no users are configured. */
export interface FirstSignIn {
  readonly user: string;
  readonly password: string;
}

/** The value of a request's header; undefined where it was sent more than once. */
export function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === 'string' ? value : undefined;
}

/**
 * Identifies callers. There are three ways, and the first that the request uses decides: an API key,
 * the headers of the trusted proxy, the session cookie.
 * @public the declaration of what the ops server opens names it
 */
export class Access {
  readonly sessions: Sessions;
  readonly #config: OpsConfig;
  readonly #users: ReadonlyMap<string, User>;
  readonly #keys: readonly ApiKey[];
  readonly #proxies: BlockList;
  readonly #limits = new SignInLimits();

  /** @throws InputError CONFIG_INVALID */
  constructor(config: OpsConfig) {
    this.#config = config;
    this.#users = readUsers(config.users);
    this.#keys = readApiKeys(config.apiKeys);
    this.#proxies = readProxies(config.trustedProxy);
    this.sessions = new Sessions(this.#users, config.sessionMs, config.sessionKey);
  }

  /** @returns the caller; undefined where the request has no valid credentials */
  identify(request: FastifyRequest, now: number): Identity | undefined {
    const { authorization = '' } = request.headers;
    // Other schemes are between the visitor and the proxy, which may forward the header.
    if (/^Bearer\b/i.test(authorization)) return this.#byKey(authorization, now);
    const { userHeader, roleHeader } = this.#config;
    if (userHeader !== undefined && this.isProxied(request)) {
      const roles = roleHeader === undefined ? undefined : headerOf(request, roleHeader);
      const byProxy = proxyIdentity(headerOf(request, userHeader), roles);
      if (byProxy !== undefined) return byProxy;
    }
    const cookie = request.cookies[cookieName(request)];
    return cookie === undefined ? undefined : this.sessions.read(cookie, now);
  }

  isProxied({ socket }: FastifyRequest): boolean {
    return this.isTrustedProxy(socket.remoteAddress ?? '');
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
  signIn(name: string, password: string, network: string, now: number): Promise<User | undefined> {
    const check = () => checkPassword(this.#users, name, password);
    return this.#limits.check(name, network, now, check);
  }

  get senders(): ReadonlySet<string> {
    return new Set(this.#keys.filter(({ role }) => role === 'sender').map(({ name }) => name));
  }

  #byKey(authorization: string, now: number): Identity | undefined {
    const key = /^Bearer +(\S{1,512})$/i.exec(authorization)?.[1];
    const found = key === undefined ? undefined : findApiKey(this.#keys, key, now);
    return found && { name: `key:${found.name}`, role: found.role, by: 'key', seed: '' };
  }
}

/**
 * Reads users, API keys and proxies. Where no person could sign in and the server is reachable from
 * this machine only, an operator with a random password is created, so that no configuration is needed.
 *
 * @throws InputError CONFIG_INVALID
 */
export async function openAccess(config: OpsConfig) {
  const hasPeople = config.users !== undefined || config.userHeader !== undefined;
  if (hasPeople || !isLoopbackHost(config.host)) return { access: new Access(config) };
  const firstSignIn: FirstSignIn = {
    user: 'operator',
    password: randomBytes(15).toString('base64url'),
  };
  const users = `${firstSignIn.user}:operator:${await hashPassword(firstSignIn.password)}`;
  return { access: new Access({ ...config, users }), firstSignIn };
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
