import type { OptionRows } from '../option.ts';

const NAME = String.raw`[A-Za-z0-9._@-]{1,64}`;
const USER = String.raw`${NAME}:(?:viewer|operator):scrypt\.\d{1,2}\.\d{1,2}\.\d{1,2}\.[\w-]{16,64}\.[\w-]{32,128}`;
const API_KEY = String.raw`${NAME}:(?:sender|viewer|operator):sha256\.[\w-]{43}`;
const OCTET = String.raw`(?:25[0-5]|2[0-4]\d|1?\d?\d)`;
const V4 = String.raw`(?:${OCTET}\.){3}${OCTET}(?:/(?:3[0-2]|[12]?\d))?`;
const V6 = String.raw`(?=[0-9A-Fa-f:.]*:)[0-9A-Fa-f:.]{2,45}(?:/(?:12[0-8]|1[01]\d|\d?\d))?`;
const HEADER = /^[A-Za-z][A-Za-z0-9-]{0,63}$/;

const some = (entry: string, between: string) =>
  new RegExp(`^\\s*(?:${entry})(?:${between}(?:${entry}))*\\s*$`);

/** The ops server: pages, JSON API and intake of notices over HTTP. */
export const OPS_OPTIONS = {
  OPS_HOST: {
    kind: 'text',
    meaning: 'Address that the ops server listens on.',
    pattern: /^[A-Za-z0-9.:-]{1,255}$/,
    expected: 'an IP address or the name of a host',
    default: '127.0.0.1',
    note: 'Beyond this machine it wants OPS_USERS, OPS_API_KEYS or a trusted proxy; put TLS in front of it.',
  },
  OPS_PORT: {
    kind: 'integer',
    meaning: 'TCP port that the ops server listens on; 0 for a free one.',
    unit: 'port numbers',
    min: 0,
    max: 65_535,
    default: 4011,
  },
  OPS_USERS: {
    kind: 'secret',
    meaning:
      'People who may sign in, each `name:role:hash` as `notices ops hash-password` prints it, separated by commas or line breaks; a viewer sees, an operator also acts.',
    pattern: some(USER, String.raw`[\s,]+`),
    expected: 'entries as `notices ops hash-password` prints them',
  },
  OPS_API_KEYS: {
    kind: 'secret',
    meaning:
      'Programs that may call the API with `Authorization: Bearer`, each `name:role:hash` as `notices ops new-key` prints it; a sender hands over notices and nothing else.',
    pattern: some(API_KEY, String.raw`[\s,]+`),
    expected: 'entries as `notices ops new-key` prints them',
  },
  OPS_SESSION_KEY: {
    kind: 'secret',
    meaning:
      'Signs sessions, so that they outlive a restart and hold at several ops servers; drawn at random at each start when left out.',
    pattern: /^[\x21-\x7e]{32,256}$/,
    expected: '32 to 256 printable characters without spaces',
  },
  OPS_SESSION_MS: {
    kind: 'integer',
    meaning: 'How long a session lasts after the sign-in.',
    unit: 'milliseconds',
    min: 60_000,
    max: 604_800_000,
    default: 43_200_000,
  },
  OPS_TRUSTED_PROXY: {
    kind: 'text',
    meaning:
      'Addresses or subnets of the reverse proxies whose X-Forwarded headers, and OPS_USER_HEADER where it is set, are believed.',
    pattern: some(`${V4}|${V6}`, String.raw`\s*,\s*`),
    expected: 'IP addresses or subnets such as 10.0.0.0/8, separated by commas',
    note: 'Whoever can connect from such an address can be anybody.',
  },
  OPS_USER_HEADER: {
    kind: 'text',
    meaning:
      'Header in which the trusted proxy names the person it has signed in; from any other address it counts for nothing.',
    pattern: HEADER,
    expected: 'the name of an HTTP header',
    note: 'The proxy must set or remove it in every request, or a visitor can name himself.',
  },
  OPS_ROLE_HEADER: {
    kind: 'text',
    meaning:
      'Header in which the trusted proxy gives the roles of the person, separated by commas: viewer, operator; a viewer where the header is missing, nobody where it names neither.',
    pattern: HEADER,
    expected: 'the name of an HTTP header',
  },
  OPS_MAX_BODY_BYTES: {
    kind: 'integer',
    meaning: 'The largest request body that the ops server reads.',
    unit: 'bytes',
    min: 1_024,
    max: 104_857_600,
    default: 4_194_304,
  },
  OPS_NOTICES_PER_MINUTE: {
    kind: 'integer',
    meaning: 'How many notices one API key may hand over in a minute, at each ops server.',
    unit: 'notices',
    min: 1,
    max: 10_000_000,
    default: 6_000,
  },
} as const satisfies OptionRows;
