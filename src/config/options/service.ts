import type { OptionRows } from '../option.ts';

const PATH = /^\/(?!\/)[\w.~!$&'()*+,;=:@%/-]*$/;
const PATH_IN_WORDS = "a path that begins with one '/', without query or fragment";

const SENDER_KEY = /^\P{Cc}{1,200}$/u;
const SENDER_KEY_IN_WORDS = '1 to 200 characters on one line';

/** How to reach the messaging service, and how long to wait for it. */
export const SERVICE_OPTIONS = {
  BASE_URL: {
    kind: 'url',
    meaning: 'Base address of the messaging service, to which the paths below are added.',
    protocols: ['https:', 'http:'],
    userinfo: false,
    path: 'any',
    expected:
      'https:// (or http:// on this machine) with a host, without user name, query or fragment',
    required: 'service',
  },
  INSECURE_HTTP_HOST: {
    kind: 'text',
    meaning: 'The one host beyond this machine that BASE_URL may reach over plain http:.',
    pattern: /^[A-Za-z0-9._-]{1,253}$/,
    expected: 'a host name or address without port',
    note: 'The key pair, the token and every phone number then cross the network in plain text.',
  },
  ACCESS_KEY: {
    kind: 'secret',
    meaning: 'Access key of the app at the service.',
    pattern: /^(?!.*:)[\x21-\x7e]([\x20-\x7e]{0,1022}[\x21-\x7e])?$/,
    expected: '1 to 1024 printable ASCII characters, no colon, no space at either end',
    required: 'service',
  },
  SECRET_KEY: {
    kind: 'secret',
    meaning: 'Secret key of the app at the service. The token in Redis is sealed with it.',
    pattern: /^[\x21-\x7e]([\x20-\x7e]{0,1022}[\x21-\x7e])?$/,
    expected: '1 to 1024 printable ASCII characters, no space at either end',
    required: 'service',
  },
  API_VERSION: {
    kind: 'choice',
    meaning:
      'Version of the API: decides the form of the bearer value and which send path is used.',
    choices: ['v2', 'v1'],
    default: 'v2',
  },
  TOKEN_PATH: {
    kind: 'text',
    meaning: 'Path of the token endpoint, the same for both versions.',
    pattern: PATH,
    expected: PATH_IN_WORDS,
    default: '/api/v2/token',
  },
  SEND_PATH_V2: {
    kind: 'text',
    meaning: 'Path of the send endpoint on v2.',
    pattern: PATH,
    expected: PATH_IN_WORDS,
    default: '/api/v2/notices/send',
  },
  SEND_PATH_V1: {
    kind: 'text',
    meaning: 'Path of the send endpoint on v1. The document of the service does not show it.',
    pattern: PATH,
    expected: PATH_IN_WORDS,
    default: '/api/v1/notices/send',
  },
  CHAT_SENDER_KEY_FIELD: {
    kind: 'text',
    meaning: 'Name that chatSenderKey bears in the body of a send request.',
    pattern: /^(?!(?:templateCode|scheduleType|senderKey|contacts)$)[A-Za-z][A-Za-z0-9_]{0,63}$/,
    expected:
      'a field name of 1 to 64 letters, digits and underscores that no other field of the body has',
    default: 'chatSenderKey',
  },
  DEFAULT_CHAT_SENDER_KEY: {
    kind: 'text',
    meaning: 'Sender key of the messenger channel for notices that bring none.',
    pattern: SENDER_KEY,
    expected: SENDER_KEY_IN_WORDS,
  },
  DEFAULT_SENDER_KEY: {
    kind: 'text',
    meaning: 'Sender key for SMS for notices that bring none.',
    pattern: SENDER_KEY,
    expected: SENDER_KEY_IN_WORDS,
  },
  TLS_CA_FILE: {
    kind: 'file',
    meaning:
      'Path of the PEM certificates that the service is verified with, in place of the usual.',
  },
  PROXY_URL: {
    kind: 'url',
    meaning: 'Proxy for every call to the service. HTTP_PROXY and its kin are not read.',
    protocols: ['http:', 'https:'],
    userinfo: true,
    path: 'none',
    expected:
      'http:// or https:// with a host, without path, query or fragment, special characters of the password percent-encoded',
  },
  CONNECT_TIMEOUT_MS: {
    kind: 'integer',
    meaning: 'How long one try to connect to the service, TLS included, may take.',
    unit: 'milliseconds',
    min: 50,
    max: 60_000,
    default: 3_000,
  },
  ANSWER_TIMEOUT_MS: {
    kind: 'integer',
    meaning: 'How long the service may be silent after a request.',
    unit: 'milliseconds',
    min: 50,
    max: 300_000,
    default: 10_000,
    note: 'Lowered: a slow answer becomes an unknown outcome, and under at-least-once perhaps a second send. Raised: a service that hangs keeps more jobs waiting.',
  },
  SEND_DEADLINE_MS: {
    kind: 'integer',
    meaning: 'How long a whole attempt may take: waiting for a token, and both calls.',
    unit: 'milliseconds',
    min: 100,
    max: 600_000,
    default: 30_000,
  },
  ISSUE_DEADLINE_MS: {
    kind: 'integer',
    meaning: 'How long an issuance may take, its retries included.',
    unit: 'milliseconds',
    min: 100,
    max: 120_000,
    default: 10_000,
  },
  NOT_SENT_RETRIES: {
    kind: 'integer',
    meaning: 'How often an attempt tries again, at once, a request that provably never left.',
    unit: 'retries',
    min: 0,
    max: 10,
    default: 2,
  },
} as const satisfies OptionRows;
