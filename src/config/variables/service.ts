import {
  answerRules,
  choice,
  certificates,
  secret,
  text,
  url,
  variable,
  duration,
} from '../variable.ts';

const path = () =>
  text(
    /^\/(?!\/)[\w.~!$&'()*+,;=:@%/-]*$/,
    "a path that begins with one '/', without query or fragment",
  );

const senderKey = () => text(/^\P{Cc}{1,200}$/u, '1 to 200 characters on one line');

/** How to reach the messaging service, and the timeouts of its requests. */
export const serviceVariables = {
  baseUrl: variable(
    'BASE_URL',
    url(
      { protocols: ['https:', 'http:'], userinfo: false, path: 'any' },
      'https:// (or http:// on this machine) with a host, without user name, query or fragment',
    ).exactOptional(),
    {
      description: 'Base URL of the messaging service; the paths below are appended to it.',
      required: true,
    },
  ),
  accessKey: variable(
    'ACCESS_KEY',
    secret(
      /^(?!.*:)[\x21-\x7e]([\x20-\x7e]{0,1022}[\x21-\x7e])?$/,
      '1 to 1024 printable ASCII characters, no colon, no space at either end',
    ).exactOptional(),
    { description: 'Access key of the app at the service.', required: true },
  ),
  secretKey: variable(
    'SECRET_KEY',
    secret(
      /^[\x21-\x7e]([\x20-\x7e]{0,1022}[\x21-\x7e])?$/,
      '1 to 1024 printable ASCII characters, no space at either end',
    ).exactOptional(),
    {
      description:
        'Secret key of the app at the service. It also encrypts the shared token in Redis.',
      required: true,
    },
  ),
  apiVersion: variable('API_VERSION', choice(['v2', 'v1']).default('v2'), {
    description:
      'API version: decides the format of the bearer value and the default of SEND_PATH.',
  }),
  tokenPath: variable('TOKEN_PATH', path().default('/api/v2/token'), {
    description: 'Path of the token endpoint, the same for both versions.',
  }),
  sendPath: variable('SEND_PATH', path().exactOptional(), {
    description:
      'Path of the send endpoint. Default: /api/v2/notices/send, and with API_VERSION v1 the same with v1, which the documentation of the service does not name.',
  }),
  chatSenderKeyField: variable(
    'CHAT_SENDER_KEY_FIELD',
    text(
      /^(?!(?:templateCode|scheduleType|senderKey|contacts)$)[A-Za-z][A-Za-z0-9_]{0,63}$/,
      'a field name of 1 to 64 letters, digits and underscores that no other field of the body has',
    ).default('chatSenderKey'),
    { description: 'Field name of chatSenderKey in the body of a send request.' },
  ),
  defaultChatSenderKey: variable('DEFAULT_CHAT_SENDER_KEY', senderKey().exactOptional(), {
    description: 'Sender key of the messenger channel for notices without chatSenderKey.',
  }),
  defaultSenderKey: variable('DEFAULT_SENDER_KEY', senderKey().exactOptional(), {
    description: 'Sender key of SMS for notices without senderKey.',
  }),
  answerRules: variable('ANSWER_RULES_FILE', answerRules().exactOptional(), {
    description:
      'Path of a JSON file with rules that decide about answers of the service before the built-in table does. docs/answers.md describes both.',
    note: 'A wrong rule sends notices twice (`retry` for an answer that accepted them) or not at all (`accepted` for one that did not).',
  }),
  tlsCa: variable('TLS_CA_FILE', certificates().exactOptional(), {
    description:
      'Path of the PEM certificates that verify the service, instead of the authorities built into Node.js.',
  }),
  proxyUrl: variable(
    'PROXY_URL',
    url(
      { protocols: ['http:', 'https:'], userinfo: true, path: 'none' },
      'http:// or https:// with a host, without path, query or fragment, special characters of the password percent-encoded',
    ).exactOptional(),
    {
      description: 'Proxy for every request to the service.',
      note: 'HTTP_PROXY, HTTPS_PROXY and NO_PROXY are not read.',
    },
  ),
  answerTimeoutMs: variable('ANSWER_TIMEOUT_MS', duration(50, 300_000).default(10_000), {
    description: 'Timeout of the response to a request.',
    note: 'Lowered: a slow response becomes an unknown outcome and, with at-least-once, perhaps a second send. Raised: a service that hangs blocks more jobs.',
  }),
};
