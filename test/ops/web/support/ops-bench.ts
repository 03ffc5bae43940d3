import { randomBytes, scryptSync } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { loadConfig } from '../../../../src/config/config.ts';
import { newApiKey, readUsers } from '../../../../src/ops/web/access/accounts.ts';
import type { Role } from '../../../../src/ops/web/access/identity.ts';
import { problemAnswer } from '../../../../src/ops/web/http/problem.ts';
import { openOps } from '../../../../src/ops/web/ops-context.ts';
import { OPS_ROUTES } from '../../../../src/ops/web/http/route-table.ts';
import type { Route } from '../../../../src/ops/web/http/route.ts';
import { buildOpsServer } from '../../../../src/ops/web/server.ts';
import { environmentAs } from '../../../support/redis-users.ts';
import { call, type WireAnswer } from '../../../emulator/calls.ts';

/** What the server answered, over a real socket. */
export interface Reply extends WireAnswer {
  /** The text as JSON. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a text as an HTML form. */
  readonly body?: unknown;
  /** Address of ours to call from. */
  readonly from?: string;
}

/** A person or a program that calls. */
export interface Caller {
  readonly headers: Readonly<Record<string, string>>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  /** Changes something by script, as a page of ours would. */
  post(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>;
}

/** An ops server that listens, over one namespace of a Redis. */
export type OpsBench = Awaited<ReturnType<typeof startOps>>;

export const PASSWORD = 'correct horse battery';

const keys = {
  sender: newApiKey('shop', 'sender'),
  viewer: newApiKey('watch', 'viewer'),
  operator: newApiKey('robot', 'operator'),
};

/** A hash of the least cost that is taken, so that tests need not wait for passwords. */
export function cheapHash(password: string, salt = Buffer.from('salt of the tests')): string {
  const hash = scryptSync(password.normalize('NFKC'), salt, 32, { N: 1_024, r: 8, p: 1 });
  return `scrypt.10.8.1.${salt.toString('base64url')}.${hash.toString('base64url')}`;
}
const hash = cheapHash(PASSWORD);

/** Users and keys of every role, as the environment names them. */
function everybody(): Record<string, string> {
  return {
    OPS_USERS: `vera:viewer:${hash}, otto:operator:${hash}`,
    OPS_API_KEYS: Object.values(keys)
      .map(({ entry }) => entry)
      .join(','),
  };
}

/**
 * Starts an ops server with a viewer `vera`, an operator `otto` and an API key of each role.
 *
 * @param env further variables; a blank one takes a default of this bench away. Without OPS_ADDRESS it takes a free port
 * @param routes others than the table's
 */
export async function startOps(
  redisUrl: string,
  prefix: string,
  env: Readonly<Record<string, string>> = {},
  routes?: readonly Route[],
) {
  const config = loadConfig(
    environmentAs('ops', {
      REDIS_URL: redisUrl,
      REDIS_PREFIX: prefix,
      OPS_ADDRESS: '0',
      OPS_SESSION_KEY: randomBytes(24).toString('base64url'),
      ...everybody(),
      ...env,
    }),
    { service: false },
  );
  const users = readUsers(config.ops.users);
  const lines: Record<string, unknown>[] = [];
  const log = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) };
  const { context, firstSignIn, close } = await openOps(config, pino({ level: 'info' }, log));
  onTestFinished(close);
  const app = await buildOpsServer(context, routes);
  const url = await app.listen({ host: config.ops.host, port: config.ops.port });
  let closed: Promise<void> | undefined;
  const end = () => {
    closed ??= app.close();
    return closed;
  };
  onTestFinished(end);
  const cookie = (name: 'vera' | 'otto', begunAt: number) => {
    const user = users.get(name);
    if (user === undefined) throw new Error(`${name} is no user`);
    return `notices=${context.access.sessions.start(user, begunAt).cookie}`;
  };
  const signedIn = async (name: 'vera' | 'otto') => {
    const headers = { cookie: cookie(name, Date.now()) };
    const session = await ask(url, '/api/v1/session', { headers });
    return callerOf(url, { ...headers, 'x-csrf-token': String(session.json['csrf']) });
  };
  return {
    url,
    context,
    /** Its log so far. */
    lines: lines as readonly Readonly<Record<string, unknown>>[],
    firstSignIn,
    ask: (path: string, options?: AskOptions) => ask(url, path, options),
    nobody: callerOf(url, {}),
    viewer: () => signedIn('vera'),
    operator: () => signedIn('otto'),
    key: (role: Role) => callerOf(url, { authorization: `Bearer ${keys[role].key}` }),
    /** Cookie of a session that began at a time. */
    cookie,
    /** Ends the server, before the test does. */
    close: end,
  };
}

function callerOf(url: string, headers: Readonly<Record<string, string>>): Caller {
  return {
    headers,
    get: (path, more = {}) => ask(url, path, { headers: { ...headers, ...more } }),
    post: (path, body = {}, more = {}) =>
      ask(url, path, { method: 'POST', headers: { ...headers, ...more }, body }),
  };
}

async function ask(
  url: string,
  path: string,
  { method = 'GET', headers = {}, body, from }: AskOptions = {},
): Promise<Reply> {
  const isForm = typeof body === 'string';
  const sent = isForm || body === undefined ? body : JSON.stringify(body);
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json';
  const reply = await call({ url }, path, {
    method,
    headers: { ...(sent === undefined ? {} : { 'content-type': type }), ...headers },
    // As bytes: a body that is a text gives its encoding to the headers that are written with it.
    body: sent === undefined ? undefined : Buffer.from(sent),
    from,
  });
  return {
    ...reply,
    get json() {
      return JSON.parse(reply.text) as Record<string, unknown>;
    },
  };
}

/** The route of the table that serves a path. */
export function routeOf(method: string, path: string): Route | undefined {
  const plain = path.replace(/\?.*$/, '');
  const fits = (route: Route) => {
    const pattern = route.path.replaceAll('.', String.raw`\.`).replaceAll(/:\w+/g, '[^/]+');
    return route.method === method && new RegExp(`^${pattern}$`).test(plain);
  };
  return (
    OPS_ROUTES.find((route) => !route.path.includes(':') && fits(route)) ?? OPS_ROUTES.find(fits)
  );
}

/** Problems that every route of the API may answer. */
const ALWAYS = new Set([400, 401, 403, 429, 503]);

/** Holds an answer to what its route says of it: the schema fits, and names every field. */
export function expectDocumented(method: string, path: string, reply: Reply): void {
  const { status } = reply;
  const doc = routeOf(method, path)?.answers?.[status];
  const known = doc !== undefined || ALWAYS.has(status);
  expect([`${method} ${path} answers ${status}`, known]).toEqual([expect.anything(), true]);
  const schema = status >= 400 ? problemAnswer : doc?.schema;
  if (schema !== undefined) expect(schema.parse(reply.json)).toEqual(reply.json);
}

/** A path of a route, with a parameter where it wants one. */
export function pathOf({ path }: Pick<Route, 'path'>): string {
  return path.replace(':stamp', 'x').replace(':name', 'ops.css').replaceAll(/:\w+/g, 'some-id');
}
