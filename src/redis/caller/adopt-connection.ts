import type { ConnectionOptions } from 'node:tls';
import type { RedisOptions } from 'ioredis';
import { z } from 'zod';
import type { HostPort } from '../connect.ts';
import {
  clusterTransportOf,
  refusedOptions,
  setOptions,
  transportOf,
  type OptionProblem,
  type RedisTransport,
} from './option-rules.ts';

/**
 * A caller's connection: an ioredis client of any version (`Redis` or `Cluster`), or the options of one
 * `Redis`.
 */
export type CallersConnection =
  RedisOptions | { readonly options: object; readonly isCluster: boolean; duplicate(): unknown };

/** Where a caller's connection leads to, and how. */
export interface AdoptedConnection {
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  readonly sentinels: readonly HostPort[];
  readonly sentinelName?: string;
  readonly sentinelPassword?: string;
  readonly cluster: readonly HostPort[];
  readonly transport: RedisTransport;
}

/** What was read from a caller's connection, or everything that is wrong with it. */
export type Adoption =
  | { readonly adopted: AdoptedConnection }
  | { readonly problems: readonly [OptionProblem, ...OptionProblem[]] };

const words = z.string('expected a text');
const host = z
  .string('expected a host name or an address')
  .regex(/^[\w.:-]{1,253}$/, 'expected a host name or an address');
const port = z
  .int('expected a port from 1 to 65535')
  .min(1, 'expected a port from 1 to 65535')
  .max(65_535, 'expected a port from 1 to 65535');
const tls = z.union([z.literal(true), z.record(words, z.unknown())], 'expected TLS options');

const SENTINELS = 'expected a list of Sentinels with host and port';
const sentinel = z.object({ host, port: port.default(26_379) }, SENTINELS);

const addressSchema = z.object({
  host: host.default('localhost'),
  port: port.default(6_379),
  db: z
    .int('expected the number of a database')
    .min(0, 'expected the number of a database')
    .default(0),
  username: words.exactOptional(),
  password: words.exactOptional(),
  sentinels: z.array(sentinel, SENTINELS).default([]),
  name: words.exactOptional(),
  sentinelPassword: words.exactOptional(),
  tls: tls.exactOptional(),
  sentinelTLS: tls.exactOptional(),
  enableTLSForSentinelMode: z.boolean('expected true or false').default(false),
});

const NODES =
  'expected nodes with host and port; what is the same for all of them, such as password and tls, belongs into redisOptions';

const node = z.union(
  [
    port.transform((number) => ({ host: '127.0.0.1', port: number })),
    z.strictObject({ host: host.default('127.0.0.1'), port: port.default(6_379) }),
    z
      .string()
      .regex(/^(?:redis:\/\/)?(?:\[[0-9a-f:.]+\]|[\w.-]+):\d{1,5}\/?$/i)
      .transform((text) => new URL(text.startsWith('redis://') ? text : `redis://${text}`))
      .transform(({ hostname, port: number }) => ({
        host: hostname.replace(/^\[|\]$/g, ''),
        port: Number(number === '' ? 6_379 : number),
      })),
  ],
  NODES,
);

/**
 * Reads where a caller's connection leads to, and how. The connection itself is neither used nor changed:
 * ours are opened with settings of their own, and the caller's stays the caller's to close.
 */
export function adoptConnection(connection: unknown): Adoption {
  if (!isRecord(connection)) {
    const message = 'expected an ioredis connection or its options (a URL is the option redis.url)';
    return { problems: [{ path: [], message }] };
  }
  const { options } = connection;
  if (typeof connection['duplicate'] !== 'function' || !isRecord(options)) {
    return adoptOptions(connection, []);
  }
  if (connection['isCluster'] !== true) return adoptOptions(options, []);

  // A client keeps the nodes it was given in a field that its types do not show.
  const nodes = z.array(node, NODES).min(1, NODES).safeParse(connection['startupNodes']);
  const problems = refusedOptions(options, []);
  if (!nodes.success) problems.push({ path: ['startupNodes'], message: NODES });
  const { redisOptions } = options;
  const ofNodes = adoptOptions(isRecord(redisOptions) ? redisOptions : {}, ['redisOptions']);
  if ('problems' in ofNodes) problems.push(...ofNodes.problems);
  else if (!ofNodes.adopted.url.endsWith('/0')) {
    const message = 'expected database 0: a cluster has no other';
    problems.push({ path: ['redisOptions', 'db'], message });
  }
  const [first, ...more] = problems;
  if (first !== undefined) return { problems: [first, ...more] };
  if ('problems' in ofNodes) return ofNodes;
  const { adopted } = ofNodes;
  const transport = { ...adopted.transport, cluster: clusterTransportOf(options) };
  return { adopted: { ...adopted, cluster: nodes.data ?? [], transport } };
}

function adoptOptions(options: object, at: readonly string[]): Adoption {
  const parsed = addressSchema.safeParse(setOptions(options));
  const problems = refusedOptions(options, at);
  for (const { path, message } of parsed.error?.issues ?? []) {
    problems.push({ path: [...at, ...path.slice(0, 1).map(String)], message });
  }
  if (parsed.success) {
    for (const { path, message } of brokenRules(parsed.data)) {
      problems.push({ path: [...at, ...path], message });
    }
  }
  const [first, ...more] = problems;
  if (first !== undefined) return { problems: [first, ...more] };
  if (!parsed.success) throw new TypeError('a problem is missing');
  const {
    tls: withTls,
    sentinelTLS,
    name,
    host: named,
    port: number,
    db,
    ...address
  } = parsed.data;
  const { username, password, sentinels, sentinelPassword } = address;
  const scheme = withTls === undefined ? 'redis' : 'rediss';
  return {
    adopted: {
      url: `${scheme}://${named.includes(':') ? `[${named}]` : named}:${number}/${db}`,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      sentinels,
      ...(sentinels.length === 0 || name === undefined ? {} : { sentinelName: name }),
      ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
      cluster: [],
      transport: {
        ...(withTls === undefined ? {} : { tls: optionsOfTls(withTls) }),
        ...(sentinelTLS === undefined ? {} : { sentinelTLS: optionsOfTls(sentinelTLS) }),
        server: transportOf(options),
        cluster: {},
      },
    },
  };
}

type AddressOptions = z.output<typeof addressSchema>;

function brokenRules(address: AddressOptions): OptionProblem[] {
  const problems: OptionProblem[] = [];
  for (const name of ['tls', 'sentinelTLS'] as const) {
    const { rejectUnauthorized, checkServerIdentity } = optionsOfTls(address[name] ?? true);
    if (rejectUnauthorized === false) {
      const message = 'expected true: any certificate would be accepted; give the authority as ca';
      problems.push({ path: [name, 'rejectUnauthorized'], message });
    }
    if (checkServerIdentity !== undefined) {
      const message = 'expected none: servername is the name that the certificate must have';
      problems.push({ path: [name, 'checkServerIdentity'], message });
    }
  }
  if (address.sentinels.length === 0) return problems;
  if (address.name === undefined) {
    problems.push({ path: ['name'], message: 'expected the name of the master' });
  }
  const uses = [
    address.tls !== undefined,
    address.sentinelTLS !== undefined,
    address.enableTLSForSentinelMode,
  ];
  if (new Set(uses).size > 1) {
    const message =
      'expected tls, sentinelTLS and enableTLSForSentinelMode: true together, or none of them';
    problems.push({ path: ['enableTLSForSentinelMode'], message });
  }
  return problems;
}

/** The client accepts `true` for TLS without options. */
function optionsOfTls(given: true | Readonly<Record<string, unknown>>): ConnectionOptions {
  return given === true ? {} : given;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
