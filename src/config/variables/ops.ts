import { choice, listenAddress, secret, text, variable } from '../variable.ts';

const NAME = String.raw`[A-Za-z0-9._@-]{1,64}`;
const USER = String.raw`${NAME}:(?:viewer|operator):scrypt\.\d{1,2}\.\d{1,2}\.\d{1,2}\.[\w-]{16,64}\.[\w-]{32,128}`;
const API_KEY = String.raw`${NAME}:(?:sender|viewer|operator):sha256\.[\w-]{43}(?::\d{4}-\d{2}-\d{2})?`;
const OCTET = String.raw`(?:25[0-5]|2[0-4]\d|1?\d?\d)`;
const V4 = String.raw`(?:${OCTET}\.){3}${OCTET}(?:/(?:3[0-2]|[12]?\d))?`;
const V6 = String.raw`(?=[0-9A-Fa-f:.]*:)[0-9A-Fa-f:.]{2,45}(?:/(?:12[0-8]|1[01]\d|\d?\d))?`;

const some = (entry: string, between: string) =>
  new RegExp(`^\\s*(?:${entry})(?:${between}(?:${entry}))*\\s*$`);

const header = () => text(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'the name of an HTTP header');

/** The ops server: pages, JSON API and sending notices over HTTP. */
export const opsVariables = {
  name: variable(
    'OPS_NAME',
    text(/^[^\p{C}]{1,40}$/u, '1 to 40 printable characters').exactOptional(),
    {
      description:
        'Name of the environment, such as production: shown with the account at the top of pages, except for the sign-in and the board of queues.',
    },
  ),
  address: variable('OPS_ADDRESS', listenAddress(4011), {
    description:
      'TCP port, or address and port such as 0.0.0.0:4011, that the ops server listens on; port 0 for a free one.',
    note: 'Reachable from other machines it requires OPS_USERS, OPS_API_KEYS or OPS_USER_HEADER; put a proxy with TLS in front of it.',
  }),
  users: variable(
    'OPS_USERS',
    secret(
      some(USER, String.raw`[\s,]+`),
      'entries as `notices ops hash-password` prints them',
    ).exactOptional(),
    {
      description:
        'Users who may sign in, each `name:role:hash` as `notices ops hash-password` prints it, separated by commas or line breaks. A viewer reads, an operator also acts.',
    },
  ),
  apiKeys: variable(
    'OPS_API_KEYS',
    secret(
      some(API_KEY, String.raw`[\s,]+`),
      'entries as `notices ops new-key` prints them',
    ).exactOptional(),
    {
      description:
        'Programs that may call the API with `Authorization: Bearer`, each `name:role:hash` as `notices ops new-key` prints it, or `name:role:hash:date` with the last day on which it can be used (UTC). Two keys may have the same name, to replace one by the other. A sender enqueues single notices and lists, looks them up by id or key, cancels single ones, and nothing else.',
    },
  ),
  sessionKey: variable(
    'OPS_SESSION_KEY',
    secret(
      /^[\x21-\x7e]{32,256}$/,
      '32 to 256 printable characters without spaces',
    ).exactOptional(),
    {
      description:
        'Signs sessions, so that they survive a restart and are valid at several ops servers. Default: a random key at each start.',
    },
  ),
  trustedProxy: variable(
    'OPS_TRUSTED_PROXY',
    text(
      some(`${V4}|${V6}`, String.raw`\s*,\s*`),
      'IP addresses or subnets such as 10.0.0.0/8, separated by commas',
    ).exactOptional(),
    {
      description:
        'Addresses or subnets of the reverse proxies whose X-Forwarded headers, and OPS_USER_HEADER where it is set, are trusted.',
      note: 'A client that can connect from such an address can act as any user.',
    },
  ),
  hostNames: variable(
    'OPS_HOST_NAMES',
    text(
      some('[A-Za-z0-9][A-Za-z0-9.-]{0,252}', String.raw`\s*,\s*`),
      'names of hosts, separated by commas',
    ).exactOptional(),
    {
      description:
        'Names under which the ops server is reached; requests for others are refused, except for IP addresses and localhost. Default: on a server of this machine without OPS_TRUSTED_PROXY none, otherwise all.',
      note: 'Without it a page of another site could reach a server of this machine under a name of its own (DNS rebinding).',
    },
  ),
  userHeader: variable('OPS_USER_HEADER', header().exactOptional(), {
    description:
      'Header in which the trusted proxy passes the name of the signed-in user; it is ignored from any other address.',
    note: 'The proxy must set or remove it in every request; otherwise visitors can choose their name.',
  }),
  roleHeader: variable('OPS_ROLE_HEADER', header().exactOptional(), {
    description:
      'Header in which the trusted proxy passes the roles of the user, separated by commas: viewer, operator. A missing header means viewer; a header with neither role denies access.',
  }),
};

/** The address of a webhook. */
const webhookUrl = () =>
  secret(
    /^https?:\/\/(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?(?:[/?][^\s\\#]{0,1500})?$/,
    'https:// (or http:// on this machine) with a host, without user name or fragment',
  ).exactOptional();

const webhookSecret = () =>
  secret(/^\P{Cc}{16,1024}$/u, '16 to 1024 characters on one line').exactOptional();

/** Where events are posted. */
export const eventVariables = {
  url: variable('EVENT_WEBHOOK_URL', webhookUrl(), {
    description:
      'URL to which one process of the fleet posts events: the ends of single notices (with NOTICE_EVENTS above 0) and of batches, holds, and what needs attention. docs/events.md describes them. Secret, because such URLs often contain a key.',
  }),
  secret: variable('EVENT_WEBHOOK_SECRET', webhookSecret(), {
    description: 'Signs every post (HMAC-SHA256), so that the receiver can verify its sender.',
  }),
  format: variable('EVENT_WEBHOOK_FORMAT', choice(['json', 'text']).default('json'), {
    description:
      'Body of a post. `json` has all fields; `text` is a message {"text": ...} for chat tools, without single notices.',
  }),
};
